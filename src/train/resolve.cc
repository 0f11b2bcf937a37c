#include "train/resolve.h"

#include <algorithm>
#include <filesystem>
#include <string>
#include <utility>
#include <variant>

#include "config/fields.h"
#include "nn/backend.h"
#include "nn/device.h"
#include "tandem/registry.h"

namespace tandem {
namespace {

void MakeAbsolute(std::string& path) {
  if (!path.empty()) path = std::filesystem::absolute(path).lexically_normal().string();
}

// Returns whether the argument of the puzzle is a path. Names of the puzzles that come with Tandem
// are not paths, even if a file has the same name.
bool IsPath(const DomainConfig& domain) {
  return ReadsFile(domain.name) && domain.argument.find_first_of("./") != std::string::npos;
}

}  // namespace

Config WithAbsolutePaths(Config config) {
  if (IsPath(config.domain)) MakeAbsolute(config.domain.argument);
  for (const Field& field : FieldsOf(config)) {
    const auto* const path = std::get_if<PathField>(&field.value);
    if (path == nullptr) continue;
    MakeAbsolute(*path->value);
  }
  return config;
}

Config ResolveAutos(Config config, const Device& device, int cores) {
  const std::int64_t threads = std::min(cores, kMostThreads);
  config.device = device.torch().str();
  config.pipeline.policy_lag =
      config.pipeline.policy_lag.value_or(DefaultLag(config.pipeline.mode));
  config.generate.workers = config.generate.workers.value_or(threads);
  config.generate.chunk_rows = config.generate.rows_of_chunk();
  if (UsesRowsPerWalk(config.generate.target)) {
    config.generate.rows_per_walk = config.generate.rows_of_walk();
  }
  config.train.threads = config.train.threads.value_or(threads);
  config.inference.threads = config.inference.threads.value_or(*config.train.threads);
  config.inference.batch_size = config.inference.batch_size.value_or(
      device.torch().is_cpu() ? InferenceConfig::kCpuRows : InferenceConfig::kGpuRows);
  return WithBackends(std::move(config), device);
}

}  // namespace tandem
