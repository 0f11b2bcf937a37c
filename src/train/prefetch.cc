#include "train/prefetch.h"

#include <algorithm>
#include <numeric>
#include <span>

#include "base/random.h"
#include "generate/generator.h"

namespace tandem {
namespace {

// A shuffled order of 0..n-1, drawn as far as it is asked for (Fisher and Yates).
class LazyShuffle {
 public:
  LazyShuffle(std::size_t n, Random random) : order_(n), random_(random) {
    std::iota(order_.begin(), order_.end(), 0U);
  }

  std::span<const std::uint32_t> Next(std::size_t count) {
    const std::size_t first = drawn_;
    for (; drawn_ < first + count; ++drawn_) {
      std::swap(order_[drawn_], order_[drawn_ + random_.Below(order_.size() - drawn_)]);
    }
    return std::span(order_).subspan(first, count);
  }

 private:
  std::vector<std::uint32_t> order_;
  std::size_t drawn_ = 0;
  Random random_;
};

void Gather(const DataBuffer& rows, std::span<const std::uint32_t> picked, TransferSlot& slot) {
  for (std::size_t c = 0; c < rows.schema().columns.size(); ++c) {
    const ConstRows from = rows.column(c);
    const Rows to(reinterpret_cast<std::uint8_t*>(slot.host(c).data()), picked.size(),
                  from.row_size());
    for (std::size_t i = 0; i < picked.size(); ++i) {
      std::copy_n(from[picked[i]].data(), from.row_size(), to[i].data());
    }
  }
}

std::vector<TensorSpec> BatchTensors(const Schema& schema, std::int64_t batch_size) {
  const auto width = static_cast<std::int64_t>(schema.columns[kInputColumn].width);
  const auto outputs = static_cast<std::int64_t>(schema.columns[kTargetColumn].width);
  return {{.type = at::kByte, .sizes = {batch_size, width}},
          {.type = at::kFloat, .sizes = {batch_size, outputs}}};
}

}  // namespace

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
    return {.inputs = slot.device(kInputColumn), .targets = slot.device(kTargetColumn)};
  }

 private:
  PrefetchLoader& loader_;
  std::int64_t handed_out_ = 0;
  std::int64_t given_up_ = 0;
};

PrefetchLoader::PrefetchLoader(Device& device, const Schema& schema, PrefetchOptions options)
    : options_(options),
      slots_(device.MakeSlots(static_cast<std::size_t>(options.depth) + 2,
                              BatchTensors(schema, options.batch_size))),
      thread_("prefetch") {}

PrefetchLoader::~PrefetchLoader() = default;

std::unique_ptr<BatchSource> PrefetchLoader::Open(const DataBuffer& rows, std::int64_t update) {
  {
    const std::lock_guard lock(mutex_);
    count_ = static_cast<std::int64_t>(rows.rows()) / options_.batch_size;
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
  LazyShuffle order(rows.rows(),
                    Random(options_.seed, Purpose::kShuffle, static_cast<std::uint64_t>(update)));
  for (std::int64_t batch = 0; AwaitRoomFor(batch); ++batch) {
    TransferSlot& slot = SlotOf(batch);
    slot.AwaitHost();
    Gather(rows, order.Next(static_cast<std::size_t>(options_.batch_size)), slot);
    slot.EnqueueCopy();
    const std::lock_guard lock(mutex_);
    enqueued_ = batch + 1;
    changed_.notify_all();
  }
}

// False when there is no such batch, or nobody wants it any more.
bool PrefetchLoader::AwaitRoomFor(std::int64_t batch) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] {
    return cancelled_ || batch >= count_ ||
           batch < released_ + static_cast<std::int64_t>(slots_.size());
  });
  return !cancelled_ && batch < count_;
}

}  // namespace tandem
