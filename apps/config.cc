// tandem config --reference, tandem config CONFIG
#include <fmt/format.h>

#include "apps/commands.h"
#include "config/load.h"
#include "config/reference.h"
#include "tandem/error.h"

namespace tandem {

int RunConfig(const ConfigArgs& args) {
  if (args.reference && !(args.file.empty() && args.overrides.empty())) {
    throw InputError("config: --reference tells the defaults, so it takes no config and no --set");
  }
  if (!args.reference && args.file.empty()) {
    throw InputError(
        "config: name a config to check and show in full, or --reference to be told every key");
  }
  if (args.reference) {
    fmt::print("{}", ConfigReference());
  } else {
    fmt::print("{}", ToYaml(LoadConfig(args.file, args.overrides)));
  }
  return kDone;
}

}  // namespace tandem
