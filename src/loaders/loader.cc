#include "loaders/loader.h"

#include <ATen/ops/cat.h>
#include <ATen/ops/index_select.h>
#include <ATen/ops/ones_like.h>

#include <algorithm>
#include <exception>
#include <future>
#include <span>
#include <utility>

#include "base/fault_point.h"
#include "base/slot_ring.h"
#include "base/stop_signal.h"
#include "base/timeline.h"
#include "data/row_order.h"
#include "tensor/device_rows.h"

namespace tandem {
namespace {

// The number of batches that the trainer holds: the one that it works on, and the previous one,
// which the device may still be working on.
constexpr std::int64_t kHeld = 2;

// The tensor of a slot that holds row numbers instead of rows.
constexpr std::size_t kNumbers = 0;

// Copies the rows whose numbers are in `picked` to the slot's host memory.
void Gather(const DataBuffer& rows, std::span<const std::uint32_t> picked, TransferSlot& slot) {
  const Span span(Activity::kGather);
  for (std::size_t c = 0; c < rows.schema().columns.size(); ++c) {
    auto* to = reinterpret_cast<std::uint8_t*>(slot.host(c).data());
    CopyRows(rows.column(c), picked, {to, picked.size(), rows.column(c).row_size()});
  }
}

// The tensors that a slot needs for batches of `schema` whose rows come from `memory`.
std::vector<TensorSpec> BatchTensors(const Schema& schema, std::int64_t batch_size, Memory memory) {
  if (memory == Memory::kDevice) return {{.type = at::kLong, .sizes = {batch_size}}};
  const auto width = static_cast<std::int64_t>(schema.columns[kInputColumn].width);
  const auto outputs = static_cast<std::int64_t>(schema.columns[kTargetColumn].width);
  std::vector<TensorSpec> tensors = {{.type = at::kByte, .sizes = {batch_size, width}}};
  tensors.resize(schema.columns.size(), {.type = at::kFloat, .sizes = {batch_size, outputs}});
  return tensors;
}

}  // namespace

Batch Concatenate(const std::vector<Batch>& parts) {
  const bool weighted =
      std::ranges::any_of(parts, [](const Batch& part) { return part.weights.defined(); });
  std::vector<at::Tensor> inputs;
  std::vector<at::Tensor> targets;
  std::vector<at::Tensor> weights;
  for (const Batch& part : parts) {
    inputs.push_back(part.inputs);
    targets.push_back(part.targets);
    if (!weighted) continue;
    weights.push_back(part.weights.defined() ? part.weights : at::ones_like(part.targets));
  }
  return {.inputs = at::cat(inputs),
          .targets = at::cat(targets),
          .weights = weighted ? at::cat(weights) : at::Tensor()};
}

std::optional<Batch> StoredExamples::Next(std::int64_t update) {
  std::vector<Batch> parts;
  for (std::int64_t left = batch_size_; left > 0;) {
    std::optional<Batch> part = TakeRows(left, update);
    if (!part) break;
    left -= part->targets.size(0);
    parts.push_back(std::move(*part));
  }
  if (parts.empty()) return std::nullopt;
  return parts.size() == 1 ? parts.front() : Concatenate(parts);
}

// Hands out the batches of one buffer, which the ring's stages copy to the device and train on.
class BufferLoader::Iterator final : public BatchIterator {
 public:
  Iterator(BufferLoader& loader, const DataBuffer& rows, std::int64_t update)
      : loader_(loader),
        rows_(rows),
        update_(update),
        count_(num_rows() / loader.batch_size_),
        ring_(loader.slots_.size(), /*stages=*/2) {
    if (!loader.thread_) return;
    copied_ = loader.thread_->Post([this] {
      try {
        for (std::int64_t n = 0; n < count_; ++n) {
          AwaitRoom();
          CopyNext();
        }
      } catch (...) {
        ring_.Fail(kCopy, std::current_exception());
      }
    });
  }

  ~Iterator() override {
    ring_.Close(std::make_exception_ptr(Stopped()));
    if (copied_.valid()) copied_.wait();
    // The next buffer's copies must not overwrite batches that the device still has to work on.
    while (released_ < taken_) ReleaseOldest();
  }
  Iterator(const Iterator&) = delete;
  Iterator& operator=(const Iterator&) = delete;

  Batch Next() override {
    if (taken_ == released_ + kHeld) ReleaseOldest();
    if (!copied_.valid()) {
      CopyNext();
    } else if (taken_ + 1 < count_) {
      ring_.AwaitEnd(kCopy, taken_ + 1);
    }
    const std::int64_t batch = ring_.Begin(kTrain);
    ++taken_;
    TransferSlot& slot = SlotOf(batch);
    slot.AwaitCopy();
    const auto rows_of = [&](std::size_t column) {
      if (loader_.memory_ == Memory::kHost) return slot.device(column);
      return at::index_select(ColumnTensor(rows_, column, loader_.device_), 0,
                              slot.device(kNumbers));
    };
    return MakeBatch(rows_.schema(), rows_of);
  }

 private:
  // The stages of the ring.
  static constexpr std::size_t kCopy = 0;
  static constexpr std::size_t kTrain = 1;

  std::int64_t num_rows() const { return static_cast<std::int64_t>(rows_.rows()); }
  TransferSlot& SlotOf(std::int64_t batch) { return *loader_.slots_[ring_.SlotOf(batch)]; }

  void ReleaseOldest() {
    SlotOf(released_++).Release();
    ring_.End(kTrain);
  }

  void AwaitRoom() {
    const Span span(Activity::kWaitForRoom);
    ring_.AwaitRoom(kCopy);
  }

  std::span<const std::uint32_t> NextRows() {
    const Span span(Activity::kShuffle);
    if (!order_) order_.emplace(rows_.rows(), loader_.seed_, update_, loader_.rank_);
    const auto size = static_cast<std::size_t>(loader_.batch_size_);
    return order_->Rows(size * gathered_++, size);
  }

  // Gathers the next batch and enqueues its copy. Runs on the loader's thread if there is one.
  void CopyNext() {
    FaultPoint(Fault::kLoadBatch);
    TransferSlot& slot = SlotOf(ring_.Begin(kCopy));
    {
      const Span span(Activity::kWaitForDevice);
      slot.AwaitHost();
    }
    if (loader_.memory_ == Memory::kHost) {
      Gather(rows_, NextRows(), slot);
    } else {
      // There may be more rows than an int32 can count.
      auto* const to = reinterpret_cast<std::int64_t*>(slot.host(kNumbers).data());
      std::ranges::copy(NextRows(), to);
    }
    const Span span(Activity::kHostToDevice);
    slot.EnqueueCopy();
    ring_.End(kCopy);
  }

  BufferLoader& loader_;
  const DataBuffer& rows_;
  const std::int64_t update_;
  const std::int64_t count_;  // batches
  SlotRing ring_;
  std::optional<RowOrder> order_;  // this and the next: used by the thread that copies
  std::size_t gathered_ = 0;       // batches
  std::int64_t taken_ = 0;         // batches handed out
  std::int64_t released_ = 0;      // batches that the trainer has finished with
  std::future<void> copied_;       // of the loader's thread; not valid without prefetching
};

BufferLoader::BufferLoader(Device& device, const Schema& schema, std::int64_t batch_size,
                           const PrefetchConfig& prefetch, std::uint64_t seed, Memory memory,
                           std::int64_t rank)
    : device_(device.torch()),
      batch_size_(batch_size),
      seed_(seed),
      rank_(rank),
      memory_(memory),
      slots_(device.MakeSlots(  // of a batch each: those held, and those prepared ahead
          static_cast<std::size_t>(kHeld + (prefetch.enabled ? prefetch.depth : 0)),
          BatchTensors(schema, batch_size, memory), prefetch)) {
  if (prefetch.enabled) thread_.emplace(kPrefetchThread);
}

std::unique_ptr<BatchIterator> BufferLoader::Open(const DataBuffer& rows, std::int64_t update) {
  return std::make_unique<Iterator>(*this, rows, update);
}

// Joins each generated batch, if there are any, with a stored batch.
class DataLoader::Iterator final : public BatchIterator {
 public:
  Iterator(std::unique_ptr<BatchIterator> live, StoredExamples& stored, std::int64_t update)
      : live_(std::move(live)), stored_(stored), update_(update) {}

  // Concatenate copies, so the result does not refer to the memory of the two batches.
  Batch Next() override {
    // Without generated rows, the stored examples wait until there are rows.
    if (live_ == nullptr) return stored_.Next(update_).value();
    Batch live = live_->Next();
    const std::optional<Batch> stored = stored_.Next(update_);
    return stored ? Concatenate({std::move(live), *stored}) : live;
  }

 private:
  const std::unique_ptr<BatchIterator> live_;  // null if no rows are generated
  StoredExamples& stored_;
  const std::int64_t update_;
};

DataLoader::DataLoader(Device& device, const Schema& schema, const Config& config,
                       StoredExamples* stored, std::int64_t rank)
    : stored_(stored) {
  const std::int64_t live_rows = config.live_part_of(config.train.batch_size);
  if (live_rows == 0) return;
  live_.emplace(device, schema, live_rows, config.prefetch, config.random_seed(),
                config.generate.program == Program::kTensor ? Memory::kDevice : Memory::kHost,
                rank);
}

std::unique_ptr<BatchIterator> DataLoader::Open(const DataBuffer* rows, std::int64_t update) {
  std::unique_ptr<BatchIterator> live = live_ ? live_->Open(*rows, update) : nullptr;
  if (stored_ == nullptr) return live;
  stored_->AwaitRows(update);
  return std::make_unique<Iterator>(std::move(live), *stored_, update);
}

Batch ShuffledRows::Take(std::int64_t most) {
  const std::int64_t count = std::min(most, left());
  const at::Tensor picked = order.narrow(0, next, count);
  Batch batch{.inputs = at::index_select(all.inputs, 0, picked),
              .targets = at::index_select(all.targets, 0, picked)};
  if (all.weights.defined()) batch.weights = at::index_select(all.weights, 0, picked);
  next += count;
  return batch;
}

}  // namespace tandem
