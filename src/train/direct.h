// Gathers and copies each batch when it is asked for.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "nn/device.h"
#include "train/batch_source.h"

namespace tandem {

/// What PrefetchLoader does, in the same order, but nothing runs beside training: so what each part
/// takes by itself can be measured.
class DirectLoader final : public BatchLoader {
 public:
  /// `device` must outlive this; buffers have `schema`, that of ExampleSchema.
  DirectLoader(Device& device, const Schema& schema, std::int64_t batch_size, std::uint64_t seed);

  std::unique_ptr<BatchSource> Open(const DataBuffer& rows, std::int64_t update) override;

 private:
  class Source;

  const std::int64_t batch_size_;
  const std::uint64_t seed_;
  std::vector<std::unique_ptr<TransferSlot>> slots_;  // two: a batch and the one before are in use
};

}  // namespace tandem
