// Where a training step gets its batches.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>

#include "buffer/data_buffer.h"

namespace tandem {

/// A batch on the device.
struct Batch {
  at::Tensor inputs;   ///< (batch_size, positions) uint8
  at::Tensor targets;  ///< (batch_size, outputs) float
};

/// The batches of one buffer, in a shuffled order. Used by one thread.
class BatchIterator {
 public:
  virtual ~BatchIterator() = default;

  /// The next batch, for use on the calling thread's current stream. Its memory stays valid until
  /// the batch after the next is asked for. Blocks until it is ready; throws what gathering it
  /// threw. Requires that batches are left.
  virtual Batch Next() = 0;
};

/// Opens one buffer after the other.
class DataLoader {
 public:
  virtual ~DataLoader() = default;

  /// The batches of `rows`, which must outlive the source. Every row comes once; its order is a
  /// function of the seed and `update`. The source before must be gone.
  virtual std::unique_ptr<BatchIterator> Open(const DataBuffer& rows, std::int64_t update) = 0;
};

}  // namespace tandem
