// Generates a set of shards into a folder.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

#include "base/stop_signal.h"
#include "config/config.h"
#include "data/shard_format.h"
#include "generate/generator.h"

namespace tandem {

/// ShardingOptions says how a set is divided into files and chunks.
struct ShardingOptions {
  std::int64_t examples = 0;  ///< rows of the whole set
  std::int64_t chunk_rows = std::int64_t{1} << 18;
  std::int64_t chunks_per_shard = 4;
  Compression compression = Compression::kNone;
};

/// The set that `config` generates. Requires that no value on which the rows depend is `auto`. If
/// the target needs a network, `weights_sha256` is the hash of that network's weights, and
/// `instruction_set` names the CPU instructions that evaluate it ("AVX512"); the last bits of the
/// labels depend on them.
ShardSetSpec SpecOfSet(const Config& config, const DomainSpec& domain,
                       const ShardingOptions& options, const std::string& weights_sha256,
                       const std::string& instruction_set = "");

/// ProcessRank says which of several processes this one is. The process with rank r generates the
/// shards whose number is r modulo `world_size`.
struct ProcessRank {
  std::int64_t rank = 0;
  std::int64_t world_size = 1;
};

/// GenerateProgress says how far a process has come with its shards.
struct GenerateProgress {
  std::int64_t rows_made = 0;
  std::int64_t rows_found = 0;  ///< rows of shards that existed already
  std::int64_t rows = 0;        ///< all rows of the process
  std::int64_t bytes = 0;       ///< bytes of the shards that were generated
};

/// Generates the missing shards of a process. Each chunk is one request for its global rows, so the
/// files are byte-identical no matter which process generates them and how often it is interrupted.
/// One chunk is filled while a background thread compresses and writes another.
///
/// `progress` is called on the calling thread. Throws InputError if the folder holds shards of a
/// different set (the message names both), if the set would have more than kMaxShards shards or
/// kMaxChunks chunks, or if the disk has too little free space. Throws Stopped once `stop` is
/// reached, and whatever generating and writing throw. An unfinished shard leaves no file behind.
void GenerateShards(Generator& generator, const ShardSetSpec& set,
                    const std::filesystem::path& folder, ProcessRank process,
                    const StopSignal& stop,
                    const std::function<void(const GenerateProgress&)>& progress);

}  // namespace tandem
