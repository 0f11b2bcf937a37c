#include "data/loader.h"

#include <ATen/ops/cat.h>

#include <algorithm>
#include <exception>
#include <future>
#include <numeric>
#include <utility>

#include "base/slot_ring.h"
#include "base/stop_signal.h"
#include "base/timeline.h"
#include "generate/generator.h"

namespace tandem {

LazyShuffle::LazyShuffle(std::size_t n, Random random) : order_(n), random_(random) {
  std::iota(order_.begin(), order_.end(), 0U);
}

std::span<const std::uint32_t> LazyShuffle::Next(std::size_t count) {
  const Span span(Phase::kShuffle);
  const std::size_t first = drawn_;
  const std::size_t end = std::min(first + count, order_.size());
  DrawPlaces(std::span(order_), first, end, random_);
  drawn_ = end;
  return std::span(order_).subspan(first, end - first);
}

LazyShuffle OrderOf(std::size_t rows, std::uint64_t seed, std::int64_t update) {
  const Span span(Phase::kShuffle);
  return {rows, Random(seed, Purpose::kShuffle, static_cast<std::uint64_t>(update))};
}

void Gather(const DataBuffer& rows, std::span<const std::uint32_t> picked, TransferSlot& slot) {
  const Span span(Phase::kGather);
  for (std::size_t c = 0; c < rows.schema().columns.size(); ++c) {
    const ConstRows from = rows.column(c);
    const Rows to(reinterpret_cast<std::uint8_t*>(slot.host(c).data()), picked.size(),
                  from.row_size());
    for (std::size_t i = 0; i < picked.size(); ++i) {
      std::copy_n(from[picked[i]].data(), from.row_size(), to[i].data());
    }
  }
}

Batch BatchIn(const TransferSlot& slot, std::int64_t rows) {
  return {.inputs = slot.device(kInputColumn).narrow(0, 0, rows),
          .targets = slot.device(kTargetColumn).narrow(0, 0, rows)};
}

std::vector<TensorSpec> BatchTensors(const Schema& schema, std::int64_t batch_size) {
  const auto width = static_cast<std::int64_t>(schema.columns[kInputColumn].width);
  const auto outputs = static_cast<std::int64_t>(schema.columns[kTargetColumn].width);
  return {{.type = at::kByte, .sizes = {batch_size, width}},
          {.type = at::kFloat, .sizes = {batch_size, outputs}}};
}

SlotOptions SlotOptionsFor(const PrefetchConfig& config) {
  return {.pinned = config.pin_memory, .copy_stream = config.copy_stream};
}

LoaderOptions LoaderOptionsFor(const PrefetchConfig& config, std::int64_t batch_size,
                               std::uint64_t seed) {
  return {.batch_size = batch_size,
          .depth = config.depth,
          .seed = seed,
          .slots = SlotOptionsFor(config)};
}

std::int64_t NumSlots(const PrefetchConfig& config) {
  return static_cast<std::int64_t>(config.enabled ? PrefetchLoader::NumSlots(config.depth)
                                                  : SyncLoader::kNumSlots);
}

std::unique_ptr<DataLoader> MakeLoader(Device& device, const Schema& schema, bool prefetch,
                                       LoaderOptions options) {
  if (!prefetch) return std::make_unique<SyncLoader>(device, schema, options);
  return std::make_unique<PrefetchLoader>(device, schema, options);
}

class SyncLoader::Iterator final : public BatchIterator {
 public:
  Iterator(SyncLoader& loader, const DataBuffer& rows, std::int64_t update)
      : loader_(loader), rows_(rows), order_(OrderOf(rows.rows(), loader.options_.seed, update)) {}

  ~Iterator() override {
    for (std::size_t i = 0; i < std::min(handed_out_, loader_.slots_.size()); ++i) {
      loader_.slots_[i]->Release();
    }
  }

  Batch Next() override {
    TransferSlot& slot = *loader_.slots_[handed_out_ % loader_.slots_.size()];
    if (handed_out_ >= loader_.slots_.size()) slot.Release();
    {
      const Span span(Phase::kWaitForDevice);
      slot.AwaitHost();
    }
    const auto picked = order_.Next(static_cast<std::size_t>(loader_.options_.batch_size));
    Gather(rows_, picked, slot);
    {
      const Span span(Phase::kHostToDevice);
      slot.EnqueueCopy();
      slot.AwaitCopy();
    }
    ++handed_out_;
    return BatchIn(slot, std::ssize(picked));
  }

 private:
  SyncLoader& loader_;
  const DataBuffer& rows_;
  LazyShuffle order_;
  std::size_t handed_out_ = 0;
};

SyncLoader::SyncLoader(Device& device, const Schema& schema, LoaderOptions options)
    : options_(options),
      slots_(device.MakeSlots(kNumSlots, BatchTensors(schema, options.batch_size), options.slots)) {
}

std::unique_ptr<BatchIterator> SyncLoader::Open(const DataBuffer& rows, std::int64_t update) {
  return std::make_unique<Iterator>(*this, rows, update);
}

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

namespace {

class Iterator final : public BatchIterator {
 public:
  Iterator(std::unique_ptr<BatchIterator> live, std::unique_ptr<BatchIterator> stored)
      : live_(std::move(live)), stored_(std::move(stored)) {}

  // at::cat copies, so the result does not refer to the memory of the two batches.
  Batch Next() override {
    const Batch live = live_->Next();
    const Batch stored = stored_->Next();
    return {.inputs = at::cat({live.inputs, stored.inputs}),
            .targets = at::cat({live.targets, stored.targets})};
  }

 private:
  std::unique_ptr<BatchIterator> live_, stored_;
};

}  // namespace

std::unique_ptr<BatchIterator> InterleavedLoader::Open(const DataBuffer& rows,
                                                       std::int64_t update) {
  return std::make_unique<Iterator>(live_.Open(rows, update), stored_.Open(rows, update));
}

}  // namespace tandem
