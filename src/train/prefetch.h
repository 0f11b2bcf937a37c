// Gathers, pins and copies batches behind the training step.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <vector>

#include "base/worker.h"
#include "nn/device.h"
#include "train/batch_source.h"
#include "train/loader.h"

namespace tandem {

/// A thread of its own gathers rows into a ring of host slots (pinned, for a GPU) and enqueues each
/// slot's copy to the device on the copy stream. The copy of batch n + 1 is enqueued before batch n
/// is handed out.
///
/// Batches n and n + 1 are the trainer's while `depth` more are ahead, so the ring has depth + 2
/// slots. A slot is filled again once the trainer has given it up; its host memory after the event
/// of its last copy, its device memory after the event of the training stream (TransferSlot).
class PrefetchLoader final : public BatchLoader {
 public:
  static std::size_t NumSlots(std::int64_t depth) { return static_cast<std::size_t>(depth) + 2; }

  /// `device` must outlive this; buffers have `schema`, that of ExampleSchema.
  PrefetchLoader(Device& device, const Schema& schema, LoaderOptions options);
  ~PrefetchLoader() override;

  std::unique_ptr<BatchSource> Open(const DataBuffer& rows, std::int64_t update) override;

 private:
  class Source;

  TransferSlot& SlotOf(std::int64_t batch) { return *slots_[batch % slots_.size()]; }
  void Produce(const DataBuffer& rows, std::int64_t update);
  bool AwaitRoomFor(std::int64_t batch);

  const LoaderOptions options_;
  std::vector<std::unique_ptr<TransferSlot>> slots_;

  std::mutex mutex_;
  std::condition_variable changed_;
  // All guarded by mutex_; batches count from 0 within a buffer.
  std::int64_t rows_ = 0;      // of the open buffer
  std::int64_t count_ = 0;     // its batches
  std::int64_t enqueued_ = 0;  // batches whose copy is enqueued
  std::int64_t released_ = 0;  // batches the trainer has given up
  bool cancelled_ = false;
  bool producing_ = false;
  std::exception_ptr error_;

  Worker thread_;  // last: it uses everything above
};

}  // namespace tandem
