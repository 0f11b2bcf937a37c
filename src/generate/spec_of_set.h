// The descriptions of the sets of shards and of the streams that a config generates.
#pragma once

#include <cstdint>
#include <string>

#include "config/config.h"
#include "data/shard_file.h"
#include "tandem/domain.h"

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

/// What all shards of a run's stream have in common: the puzzle, the columns, and the keys that are
/// KeyTraits::is_in_streams. The sizes are not set.
ShardSetSpec StreamKind(const Config& config, const DomainSpec& domain);

}  // namespace tandem
