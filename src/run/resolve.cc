#include "run/resolve.h"

#include <algorithm>
#include <filesystem>
#include <string>

#include "base/cores.h"
#include "tandem/registry.h"

namespace tandem {
namespace {

Precision Resolved(Precision precision, const Device& device) {
  if (precision != Precision::kAuto) return precision;
  return device.has_fast_bf16() ? Precision::kBf16 : Precision::kFp32;
}

void MakeAbsolute(std::string& path) {
  if (!path.empty()) path = std::filesystem::absolute(path).lexically_normal().string();
}

// Returns whether the argument of the puzzle is a path. Names of the puzzles that come with Tandem
// are not paths, even if a file has the same name.
bool IsPath(const DomainConfig& domain) {
  const DomainParameter* parameter = ParameterOf(domain.name);
  return parameter != nullptr && parameter->key == "file" &&
         domain.argument.find_first_of("./") != std::string::npos;
}

}  // namespace

TrainConfig WithAbsolutePaths(TrainConfig config) {
  if (IsPath(config.domain)) MakeAbsolute(config.domain.argument);
  for (std::string* path : {&config.data.path, &config.validation.file, &config.replay.map_to,
                            &config.network.init_from}) {
    MakeAbsolute(*path);
  }
  return config;
}

TrainConfig ResolveAutos(TrainConfig config, const Device& device) {
  const std::int64_t cores = NumCores();
  config.device = device.torch().str();
  config.pipeline.policy_lag =
      config.pipeline.policy_lag.value_or(config.pipeline.mode == Mode::kAsync ? 1 : 0);
  config.generate.workers = config.generate.workers.value_or(cores);
  config.train.threads = config.train.threads.value_or(cores);
  config.inference.threads = config.inference.threads.value_or(*config.train.threads);
  config.train.precision = Resolved(config.train.precision, device);
  config.inference.precision = Resolved(config.inference.precision, device);
  return config;
}

}  // namespace tandem
