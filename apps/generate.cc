// tandem generate CONFIG --examples N --out DIR
#include <algorithm>
#include <thread>

#include "apps/generation.h"
#include "apps/torch_library.h"
#include "tandem/registry.h"

namespace tandem {

int RunGenerate(const GenerateArgs& args) {
  TrainConfig config = LoadConfig(args.config, args.overrides);
  if (config.generate.target != Target::kWalkLength) return RunGenerateWithNetwork(args);
  config.generate.workers =
      config.generate.workers.value_or(std::max(1U, std::thread::hardware_concurrency()));
  const auto domain = MakeDomain(config.domain.full_name());
  return GenerateWith(args, config, *domain, {}, "");
}

}  // namespace tandem
