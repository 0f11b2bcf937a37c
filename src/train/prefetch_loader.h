// A loader that prepares batches in the background.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/worker.h"
#include "nn/device.h"
#include "train/data_loader.h"
#include "train/loader.h"

namespace tandem {

/// `PrefetchLoader` prepares batches on its own thread: it gathers rows into a ring of host slots,
/// which are pinned memory for a GPU, and enqueues each slot's copy to the device on the copy
/// stream. The copy of batch n + 1 is enqueued before batch n is handed out.
///
/// The trainer holds batches n and n - 1 while up to `depth` later ones are prepared, so the ring
/// has depth + 2 slots. A slot's host memory is rewritten only after the event of its last copy,
/// and its device memory only after the event of the training stream (TransferSlot).
class PrefetchLoader final : public DataLoader {
 public:
  static std::size_t NumSlots(std::int64_t depth) { return static_cast<std::size_t>(depth) + 2; }

  /// `device` must outlive this object. `schema` is an ExampleSchema, and that of all buffers.
  PrefetchLoader(Device& device, const Schema& schema, LoaderOptions options);
  ~PrefetchLoader() override;

  std::unique_ptr<BatchIterator> Open(const DataBuffer& rows, std::int64_t update) override;

 private:
  class Iterator;

  const LoaderOptions options_;
  std::vector<std::unique_ptr<TransferSlot>> slots_;
  Worker thread_;  // declared last, so that it ends before the members that it uses
};

}  // namespace tandem
