// tandem generate CONFIG --examples N --out DIR
#include "apps/generation.h"
#include "apps/torch_library.h"
#include "base/machine.h"
#include "tandem/registry.h"

namespace tandem {

int RunGenerate(const GenerateArgs& args) {
  Config config = LoadConfig(args.config, args.overrides);
  if (NeedsNetwork(config.generate.target)) return RunGenerateWithNetwork(args);
  config.generate.workers = config.generate.workers.value_or(NumCores());
  const auto domain = MakeDomain(config.domain.full_name());
  return GenerateWith(args, config, *domain, nullptr, "");
}

}  // namespace tandem
