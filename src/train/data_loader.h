// The interfaces from which a training step gets its batches.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>

#include "buffer/data_buffer.h"

namespace tandem {

/// Batch is a batch of examples on the device.
struct Batch {
  at::Tensor inputs;   ///< (batch_size, positions) uint8
  at::Tensor targets;  ///< (batch_size, outputs) float
};

/// BatchIterator hands out the batches of one update, in shuffled order. Use it from one thread.
class BatchIterator {
 public:
  virtual ~BatchIterator() = default;

  /// Returns the next batch, for use on the calling thread's current stream. Blocks until the batch
  /// is ready. Batch n stays valid until batch n + 2 is requested. Throws what gathering the batch
  /// threw. Requires that a batch remains.
  virtual Batch Next() = 0;
};

/// DataLoader makes a BatchIterator for each update.
class DataLoader {
 public:
  virtual ~DataLoader() = default;

  /// Returns an iterator over the batches of `rows`, which must outlive it. Each row occurs once.
  /// The order is a function of the seed and `update`. The previous iterator must have been
  /// destroyed.
  virtual std::unique_ptr<BatchIterator> Open(const DataBuffer& rows, std::int64_t update) = 0;
};

}  // namespace tandem
