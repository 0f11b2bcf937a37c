#include "train/prefetch_loader.h"

#include <algorithm>
#include <exception>
#include <future>

#include "base/slot_ring.h"
#include "base/stop_signal.h"
#include "base/timeline.h"
#include "generate/generator.h"
#include "train/gather.h"

namespace tandem {
namespace {

// The stages of the ring.
constexpr std::size_t kCopy = 0;
constexpr std::size_t kTrain = 1;

// The number of batches that the trainer holds: the one that it works on, and the previous one,
// which the device may still be working on.
constexpr std::int64_t kHeld = 2;

}  // namespace

// Hands out the batches of one buffer while the loader's thread copies later ones to the device.
class PrefetchLoader::Iterator final : public BatchIterator {
 public:
  Iterator(PrefetchLoader& loader, const DataBuffer& rows, std::int64_t update)
      : loader_(loader),
        rows_(rows),
        count_((num_rows() + loader.options_.batch_size - 1) / loader.options_.batch_size),
        ring_(loader.slots_.size(), /*stages=*/2) {
    copied_ = loader.thread_.Post([this, update] {
      try {
        CopyAll(update);
      } catch (...) {
        ring_.Fail(kCopy, std::current_exception());
      }
    });
  }

  ~Iterator() override {
    ring_.Close(std::make_exception_ptr(Stopped()));
    copied_.wait();
    // The next buffer's copies must not overwrite batches that the device still has to work on.
    while (released_ < taken_) ReleaseOldest();
  }
  Iterator(const Iterator&) = delete;
  Iterator& operator=(const Iterator&) = delete;

  Batch Next() override {
    if (taken_ == released_ + kHeld) ReleaseOldest();
    if (taken_ + 1 < count_) ring_.AwaitEnd(kCopy, taken_ + 1);
    const std::int64_t batch = ring_.Begin(kTrain);
    ++taken_;
    TransferSlot& slot = SlotOf(batch);
    slot.AwaitCopy();
    const std::int64_t size = loader_.options_.batch_size;
    return BatchIn(slot, std::min(size, num_rows() - batch * size));
  }

 private:
  std::int64_t num_rows() const { return static_cast<std::int64_t>(rows_.rows()); }
  TransferSlot& SlotOf(std::int64_t batch) { return *loader_.slots_[ring_.SlotOf(batch)]; }

  void ReleaseOldest() {
    SlotOf(released_++).Release();
    ring_.End(kTrain);
  }

  // Runs on the loader's thread.
  void CopyAll(std::int64_t update) {
    LazyShuffle order = OrderOf(rows_.rows(), loader_.options_.seed, update);
    for (std::int64_t n = 0; n < count_; ++n) {
      TransferSlot& slot = SlotOf(BeginCopy());
      {
        const Span span(Phase::kWaitForDevice);
        slot.AwaitHost();
      }
      Gather(rows_, order.Next(static_cast<std::size_t>(loader_.options_.batch_size)), slot);
      const Span span(Phase::kHostToDevice);
      slot.EnqueueCopy();
      ring_.End(kCopy);
    }
  }

  std::int64_t BeginCopy() {
    const Span span(Phase::kWaitForRoom);
    return ring_.Begin(kCopy);
  }

  PrefetchLoader& loader_;
  const DataBuffer& rows_;
  const std::int64_t count_;  // batches
  SlotRing ring_;
  std::int64_t taken_ = 0;     // batches handed out
  std::int64_t released_ = 0;  // batches that the trainer has finished with
  std::future<void> copied_;
};

PrefetchLoader::PrefetchLoader(Device& device, const Schema& schema, LoaderOptions options)
    : options_(options),
      slots_(device.MakeSlots(NumSlots(options.depth), BatchTensors(schema, options.batch_size),
                              options.slots)),
      thread_(options_.thread_name) {}

PrefetchLoader::~PrefetchLoader() = default;

std::unique_ptr<BatchIterator> PrefetchLoader::Open(const DataBuffer& rows, std::int64_t update) {
  return std::make_unique<Iterator>(*this, rows, update);
}

}  // namespace tandem
