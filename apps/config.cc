// tandem config --reference, tandem config CONFIG
#include <fmt/format.h>

#include "apps/commands.h"
#include "config/load.h"
#include "tandem/error.h"

namespace tandem {

int RunConfig(const ConfigArgs& args) {
  if (args.reference && !(args.file.empty() && args.overrides.empty())) {
    throw InputError("config: --reference prints the defaults; remove CONFIG and --set");
  }
  if (!args.reference && args.file.empty()) {
    throw InputError(
        "config: expected a config to check and print in full, or --reference to list every key");
  }
  if (args.reference) {
    fmt::print("{}", ConfigReference());
  } else {
    fmt::print("{}", ToYaml(LoadConfig(args.file, args.overrides)));
  }
  return kDone;
}

}  // namespace tandem
