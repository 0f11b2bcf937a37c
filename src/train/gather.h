// Batches out of a buffer: which rows, and their copies in a slot.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/random.h"
#include "buffer/data_buffer.h"
#include "nn/device.h"
#include "train/data_loader.h"

namespace tandem {

/// A shuffled order of 0..n-1, drawn as far as it is asked for.
class LazyShuffle {
 public:
  LazyShuffle(std::size_t n, Random random);

  /// The next `count`, or as many as are left.
  std::span<const std::uint32_t> Next(std::size_t count);

 private:
  std::vector<std::uint32_t> order_;
  std::size_t drawn_ = 0;
  Random random_;
};

/// The order in which update `update` trains on `rows` rows.
LazyShuffle OrderOf(std::size_t rows, std::uint64_t seed, std::int64_t update);

/// Copies the picked rows to the slot's host memory.
void Gather(const DataBuffer& rows, std::span<const std::uint32_t> picked, TransferSlot& slot);

/// The first `rows` rows of what a slot holds on the device.
Batch BatchIn(const TransferSlot& slot, std::int64_t rows);

/// What a slot holds for batches of `schema`, that of ExampleSchema.
std::vector<TensorSpec> BatchTensors(const Schema& schema, std::int64_t batch_size);

}  // namespace tandem
