// The order in which training reads a set of shards.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "data/shard_format.h"

namespace tandem {

/// ShardPosition says how far training has read a set, so that it can resume from there.
struct ShardPosition {
  std::string set;        ///< ShardSetSpec::Identity of the set
  std::int64_t rows = 0;  ///< rows of the endless sequence (EpochOrder), including skipped ones
  std::int64_t skipped_chunks = 0;  ///< damaged chunks that were skipped
  std::int64_t skipped_rows = 0;    ///< rows in those chunks
};

/// EpochPosition is the position of a row in an endless sequence of epochs.
struct EpochPosition {
  std::int64_t step = 0;
  std::int64_t row = 0;  ///< position in the shuffled order of the chunk's rows
};

/// EpochOrder gives the order of an endless sequence of epochs. Each epoch reads every chunk once,
/// in its own random order; step s reads one chunk of epoch s / num_chunks. The rows of a chunk are
/// shuffled too (ShuffleRows). The order is a function of the set and the seed. Not thread-safe.
class EpochOrder {
 public:
  EpochOrder(const ShardSetSpec& set, std::uint64_t seed);

  std::int64_t EpochOf(std::int64_t step) const { return step / num_chunks_; }
  std::int64_t ChunkOf(std::int64_t step);

  /// Finds row `row` of the endless sequence, counted from 0.
  EpochPosition Find(std::int64_t row);

 private:
  void ShuffleChunks(std::int64_t epoch);

  const ShardSetSpec set_;
  const std::uint64_t seed_;
  const std::int64_t num_chunks_;
  std::int64_t epoch_ = -1;           // the epoch that chunks_ belongs to
  std::vector<std::int64_t> chunks_;  // the chunks in that epoch's order
};

/// Writes the indices of a chunk's rows in the order in which an epoch reads them.
void ShuffleRows(std::span<std::int32_t> rows, std::uint64_t seed, std::int64_t epoch,
                 std::int64_t chunk);

}  // namespace tandem
