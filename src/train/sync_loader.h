// A loader that prepares each batch when it is requested.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "nn/device.h"
#include "train/data_loader.h"
#include "train/loader.h"

namespace tandem {

/// SyncLoader hands out the same batches as PrefetchLoader, but gathers and copies each of them on
/// the calling thread when it is requested. It serves to measure the time of each step alone, and
/// the gain from prefetching.
class SyncLoader final : public DataLoader {
 public:
  static constexpr std::size_t kNumSlots = 2;  ///< the current batch and the previous one

  /// `device` must outlive this object. `schema` is an ExampleSchema, and that of all buffers.
  SyncLoader(Device& device, const Schema& schema, LoaderOptions options);

  std::unique_ptr<BatchIterator> Open(const DataBuffer& rows, std::int64_t update) override;

 private:
  class Iterator;

  const LoaderOptions options_;
  std::vector<std::unique_ptr<TransferSlot>> slots_;
};

}  // namespace tandem
