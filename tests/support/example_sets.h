// Small sets of shards for tests.
#pragma once

#include <filesystem>
#include <vector>

#include "generate/generator.h"
#include "generate/shard_jobs.h"
#include "tandem/registry.h"

namespace tandem {

/// A config for 8-puzzle examples labelled by walk length.
inline Config Puzzle8Config() {
  Config config;
  config.domain = {.name = "npuzzle", .argument = "3"};
  config.generate.max_scramble = 13;
  config.generate.workers = 2;
  config.generate.chunk_rows = 64;
  return config;
}

/// 1,000 rows in 8 chunks and 3 shards. The last chunk is shorter.
inline ShardingOptions SmallShards(Compression compression = Compression::kNone) {
  return {.examples = 1000, .chunk_rows = 128, .chunks_per_shard = 3, .compression = compression};
}

/// Generates the shards of a share and returns the spec of the set.
inline ShardSetSpec MakeShards(const std::filesystem::path& folder,
                               const ShardingOptions& options = SmallShards(),
                               ProcessRank process = {}, const Config& config = Puzzle8Config()) {
  const auto domain = MakeDomain(config.domain.full_name());
  const ShardSetSpec set = SpecOfSet(config, domain->spec(), options, "");
  const StopSignal stop;
  GenerateShards(*MakeGenerator(*domain, config, nullptr), set, folder, process, stop,
                 [](const GenerateProgress&) {});
  return set;
}

}  // namespace tandem
