// Rows of stored examples on the device, which batches are gathered from.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "loaders/loader.h"

namespace tandem {

/// ShuffledRows are the rows of a chunk or shard on the device, and the order in which they are
/// taken.
struct ShuffledRows {
  at::Tensor inputs, targets;
  at::Tensor weights;     ///< undefined if the examples have none
  at::Tensor order;       ///< (rows) int32
  std::int64_t next = 0;  ///< next row to take, as an index into `order`

  std::int64_t left() const { return order.size(0) - next; }

  /// Takes the next rows, at least 1 and at most `most`. They have memory of their own. Requires
  /// that a row is left.
  Batch Take(std::int64_t most);
};

}  // namespace tandem
