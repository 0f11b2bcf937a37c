// The order in which training goes through a set of shards.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "shards/shard_header.h"

namespace tandem {

/// Epochs follow each other without end, and each takes every chunk once, in an order of its own:
/// step s is a chunk of epoch s / num_chunks. Within a chunk, rows come in an order of their own
/// too (ShuffleRows). All of it is a function of the set and the seed. Used by one thread.
class EpochOrder {
 public:
  EpochOrder(const ShardSetSpec& set, std::uint64_t seed);

  std::int64_t EpochOf(std::int64_t step) const { return step / num_chunks_; }
  std::int64_t ChunkOf(std::int64_t step);

  /// Where row `row` of the endless sequence is: `row` rows come before it.
  struct Place {
    std::int64_t step = 0;
    std::int64_t row = 0;  ///< of the chunk's rows, in their shuffled order
  };
  Place Find(std::int64_t row);

 private:
  void ShuffleChunks(std::int64_t epoch);

  const ShardSetSpec set_;
  const std::uint64_t seed_;
  const std::int64_t num_chunks_;
  std::int64_t epoch_ = -1;  // whose order `chunks_` is
  std::vector<std::int64_t> chunks_;
};

/// Writes the numbers of a chunk's rows in the order in which an epoch takes them.
void ShuffleRows(std::span<std::int32_t> rows, std::uint64_t seed, std::int64_t epoch,
                 std::int64_t chunk);

}  // namespace tandem
