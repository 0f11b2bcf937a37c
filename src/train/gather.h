// Picks the rows of a batch and copies them to a transfer slot.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/random.h"
#include "buffer/data_buffer.h"
#include "nn/device.h"
#include "train/data_loader.h"

namespace tandem {

/// LazyShuffle is a random permutation of 0..n-1 that is drawn only as far as it is used.
class LazyShuffle {
 public:
  LazyShuffle(std::size_t n, Random random);

  /// Returns the next `count` numbers, or all that remain.
  std::span<const std::uint32_t> Next(std::size_t count);

 private:
  std::vector<std::uint32_t> order_;
  std::size_t drawn_ = 0;
  Random random_;
};

/// The order in which update `update` trains on its `rows` rows.
LazyShuffle OrderOf(std::size_t rows, std::uint64_t seed, std::int64_t update);

/// Copies the rows whose numbers are in `picked` to the slot's host memory.
void Gather(const DataBuffer& rows, std::span<const std::uint32_t> picked, TransferSlot& slot);

/// The batch of `rows` rows in the slot's device memory. The result refers to that memory.
Batch BatchIn(const TransferSlot& slot, std::int64_t rows);

/// The tensors that a slot needs for batches of `schema`, which is an ExampleSchema.
std::vector<TensorSpec> BatchTensors(const Schema& schema, std::int64_t batch_size);

}  // namespace tandem
