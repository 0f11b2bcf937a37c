// Gathers and copies each batch when it is asked for.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "nn/device.h"
#include "train/data_loader.h"
#include "train/loader.h"

namespace tandem {

/// What PrefetchLoader does, in the same order, but on the calling thread: to measure what each
/// part takes by itself, and what prefetching gains.
class SyncLoader final : public DataLoader {
 public:
  static constexpr std::size_t kNumSlots = 2;  ///< a batch and the one before are in use

  /// `device` must outlive this; buffers have `schema`, that of ExampleSchema.
  SyncLoader(Device& device, const Schema& schema, LoaderOptions options);

  std::unique_ptr<BatchIterator> Open(const DataBuffer& rows, std::int64_t update) override;

 private:
  class Source;

  const LoaderOptions options_;
  std::vector<std::unique_ptr<TransferSlot>> slots_;
};

}  // namespace tandem
