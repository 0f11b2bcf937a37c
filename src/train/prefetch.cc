#include "train/prefetch.h"

#include <algorithm>

#include "base/timeline.h"
#include "generate/generator.h"
#include "train/gather.h"

namespace tandem {

// The trainer's side of the ring.
class PrefetchLoader::Source final : public BatchSource {
 public:
  explicit Source(PrefetchLoader& loader) : loader_(loader) {}

  ~Source() override {
    {
      std::unique_lock lock(loader_.mutex_);
      loader_.cancelled_ = true;
      loader_.changed_.notify_all();
      loader_.changed_.wait(lock, [this] { return !loader_.producing_; });
    }
    // The next buffer's copies must not overtake what is still to run on these batches.
    for (; given_up_ < handed_out_; ++given_up_) loader_.SlotOf(given_up_).Release();
  }

  Batch Next() override {
    const std::int64_t batch = handed_out_;
    if (batch >= 2) loader_.SlotOf(given_up_++).Release();
    {
      std::unique_lock lock(loader_.mutex_);
      loader_.released_ = given_up_;
      loader_.changed_.notify_all();
      const std::int64_t needed = std::min(batch + 2, loader_.count_);
      loader_.changed_.wait(
          lock, [&] { return loader_.error_ != nullptr || loader_.enqueued_ >= needed; });
      if (loader_.error_) std::rethrow_exception(loader_.error_);
    }
    ++handed_out_;
    TransferSlot& slot = loader_.SlotOf(batch);
    slot.AwaitCopy();
    const std::int64_t size = loader_.options_.batch_size;
    return BatchIn(slot, std::min(size, loader_.rows_ - batch * size));
  }

 private:
  PrefetchLoader& loader_;
  std::int64_t handed_out_ = 0;
  std::int64_t given_up_ = 0;
};

PrefetchLoader::PrefetchLoader(Device& device, const Schema& schema, LoaderOptions options)
    : options_(options),
      slots_(device.MakeSlots(NumSlots(options.depth), BatchTensors(schema, options.batch_size),
                              options.slots)),
      thread_(options_.thread_name) {}

PrefetchLoader::~PrefetchLoader() = default;

std::unique_ptr<BatchSource> PrefetchLoader::Open(const DataBuffer& rows, std::int64_t update) {
  {
    const std::lock_guard lock(mutex_);
    rows_ = static_cast<std::int64_t>(rows.rows());
    count_ = (rows_ + options_.batch_size - 1) / options_.batch_size;
    enqueued_ = released_ = 0;
    cancelled_ = false;
    producing_ = true;
    error_ = nullptr;
  }
  thread_.Post([this, &rows, update] {
    std::exception_ptr error;
    try {
      Produce(rows, update);
    } catch (...) {
      error = std::current_exception();
    }
    const std::lock_guard lock(mutex_);
    error_ = error;
    producing_ = false;
    changed_.notify_all();
  });
  return std::make_unique<Source>(*this);
}

void PrefetchLoader::Produce(const DataBuffer& rows, std::int64_t update) {
  LazyShuffle order = OrderOf(rows.rows(), options_.seed, update);
  for (std::int64_t batch = 0; AwaitRoomFor(batch); ++batch) {
    TransferSlot& slot = SlotOf(batch);
    {
      const Span span(Phase::kWaitForDevice);
      slot.AwaitHost();
    }
    Gather(rows, order.Next(static_cast<std::size_t>(options_.batch_size)), slot);
    const Span span(Phase::kHostToDevice);
    slot.EnqueueCopy();
    const std::lock_guard lock(mutex_);
    enqueued_ = batch + 1;
    changed_.notify_all();
  }
}

// False when there is no such batch, or nobody wants it any more.
bool PrefetchLoader::AwaitRoomFor(std::int64_t batch) {
  const Span span(Phase::kWaitForRoom);
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] {
    return cancelled_ || batch >= count_ ||
           batch < released_ + static_cast<std::int64_t>(slots_.size());
  });
  return !cancelled_ && batch < count_;
}

}  // namespace tandem
