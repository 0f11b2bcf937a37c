// Fills a folder with shards.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

#include "base/stop_signal.h"
#include "config/train_config.h"
#include "generate/generator.h"
#include "shards/shard_header.h"

namespace tandem {

/// How a set is cut up.
struct ShardingOptions {
  std::int64_t examples = 0;
  std::int64_t chunk_rows = std::int64_t{1} << 18;
  std::int64_t chunks_per_shard = 4;
  Compression compression = Compression::kNone;
};

/// The set that a config makes. No `auto` is left in what its rows are a function of. If its target
/// asks a network, `weights_sha256` is that network's, and `instruction_set` names the instructions
/// that evaluate it on a CPU ("AVX512"), on which the last bits of labels depend.
ShardSetSpec SpecOfSet(const TrainConfig& config, const DomainSpec& domain,
                       const ShardingOptions& options, const std::string& weights_sha256,
                       const std::string& instruction_set = "");

/// Process `index` of `count` makes the shards whose number is `index` modulo `count`.
struct Share {
  std::int64_t index = 0;
  std::int64_t count = 1;
};

struct GenerateProgress {
  std::int64_t rows_made = 0;
  std::int64_t rows_found = 0;  ///< in shards that were there already
  std::int64_t rows = 0;        ///< of the share
  std::int64_t bytes = 0;       ///< of the shards made
};

/// Makes those shards of a share that are not there: each chunk is one request for its global rows,
/// so the files are the same bytes whoever makes them, in however many goes. One chunk is filled
/// while another is compressed and written by a thread of its own.
///
/// `progress` is called on the calling thread. Throws InputError that names both if the folder
/// holds shards of another set, InputError if there would be more than a million shards or more
/// bytes than the disk has room for, Stopped once `stop` is reached, and what generating and
/// writing throw; shards that were not finished leave nothing behind.
void GenerateShards(Generator& generator, const ShardSetSpec& set,
                    const std::filesystem::path& folder, Share share, const StopSignal& stop,
                    const std::function<void(const GenerateProgress&)>& progress);

}  // namespace tandem
