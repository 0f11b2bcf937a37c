#include "loaders/shard_loader.h"

#include <fmt/format.h>

#include <utility>

#include "base/fault_point.h"
#include "base/stopwatch.h"
#include "base/timeline.h"
#include "tensor/device_rows.h"

namespace tandem {
namespace {

// The tensors of a slot.
constexpr std::size_t kChunk = 0;  // a chunk, in the memory layout of a DataBuffer
constexpr std::size_t kOrder = 1;  // the order of the chunk's rows in this epoch

std::vector<TensorSpec> SlotTensors(const ShardSetSpec& set) {
  return {{.type = at::kByte, .sizes = {static_cast<std::int64_t>(set.BytesOfChunk(0))}},
          {.type = at::kInt, .sizes = {set.RowsOfChunk(0)}}};
}

// The rows of chunk `chunk`, which are in `bytes`, a slot's memory.
DataBuffer RowsIn(std::span<std::byte> bytes, Memory memory, const ShardSetSpec& set,
                  std::int64_t chunk) {
  return {set.schema, static_cast<std::size_t>(set.RowsOfChunk(chunk)),
          Storage{.bytes = bytes, .owner = {nullptr, nullptr}, .memory = memory}};
}

// Returns `set` if training can read it from position `from` on. This check comes before memory is
// allocated for a set, because the sizes in a header may be wrong.
ShardSet Checked(ShardSet set, const std::optional<ShardPosition>& from) {
  if (from && from->set != set.spec().Identity()) {
    throw InputError(
        fmt::format("{}: not the set of examples that the run was trained on; restore that set, "
                    "or start a new run",
                    set.folder().string()));
  }
  set.CheckComplete();
  return set;
}

}  // namespace

ShardLoader::ShardLoader(Device& device, ShardSet set, int input_depth, const Config& config,
                         const std::optional<ShardPosition>& from, Interrupter* interrupter)
    : StoredExamples(config),
      set_(Checked(std::move(set), from)),
      input_depth_(input_depth),
      seed_(config.random_seed()),
      interrupter_(interrupter),
      slots_(
          device.MakeSlots(ChunkQueues().num_slots(), SlotTensors(set_.spec()), config.prefetch)),
      position_(from.value_or(ShardPosition{.set = set_.spec().Identity()})),
      order_(set_.spec(), seed_),
      disk_order_(order_),
      transfer_order_(order_) {
  const EpochPosition start = order_.Find(position_.rows);
  first_step_ = start.step;
  first_row_ = start.row;
}

void ShardLoader::AwaitRows(std::int64_t /*update*/) {
  if (!current_) TakeChunk();
}

std::optional<Batch> ShardLoader::TakeRows(std::int64_t most, std::int64_t update) {
  AwaitRows(update);
  const Span span(Activity::kGather);
  Batch batch = current_->rows.Take(most);
  position_.rows += batch.targets.size(0);
  if (current_->rows.left() == 0) {
    slots_[current_->slot]->Release();
    current_.reset();
    stages_->Release();
  }
  return batch;
}

void ShardLoader::TakeChunk() {
  if (stages_ == nullptr) {
    ChunkStages& work = *this;
    stages_ = std::make_unique<ShardPipeline>(work, ChunkQueues(), first_step_,
                                              set_.spec().num_chunks(), interrupter_);
  }
  const ShardPipeline::Item taken = stages_->Take();
  TransferSlot& slot = *slots_[taken.slot];
  slot.AwaitCopy();
  const at::Tensor& memory = slot.device(kChunk);
  const DataBuffer rows = RowsIn({static_cast<std::byte*>(memory.data_ptr()), memory.nbytes()},
                                 Memory::kDevice, set_.spec(), order_.ChunkOf(taken.step));
  const auto column = [&](std::size_t index) { return ColumnTensor(rows, index, memory.device()); };
  const at::Tensor& order = slot.device(kOrder);
  current_ = Current{.slot = taken.slot,
                     .rows = {.all = MakeBatch(rows.schema(), column),
                              .order = order.narrow(0, 0, static_cast<std::int64_t>(rows.rows())),
                              .next = std::exchange(first_row_, 0)}};
}

void ShardLoader::Load(std::int64_t step, std::size_t slot) {
  const std::int64_t chunk = disk_order_.ChunkOf(step);
  slots_[slot]->AwaitHost();
  const Section section("chunk", chunk);
  const Span span(Activity::kDiskLoad);
  FaultPoint(Fault::kReadShard);
  const Stopwatch watch;
  set_.Read(chunk, slots_[slot]->host(kChunk));
  CheckExamples(RowsIn(slots_[slot]->host(kChunk), Memory::kHost, set_.spec(), chunk), input_depth_,
                set_.NameOfChunk(chunk));
  const MutexLock lock(mutex_);
  disk_.bytes += set_.StoredBytes(chunk);
  disk_.seconds += watch.Seconds();
}

void ShardLoader::Transfer(std::int64_t step, std::size_t slot) {
  const std::int64_t chunk = transfer_order_.ChunkOf(step);
  TransferSlot& memory = *slots_[slot];
  {
    const Span span(Activity::kShuffle);
    auto* order = reinterpret_cast<std::int32_t*>(memory.host(kOrder).data());
    ShuffleRows({order, static_cast<std::size_t>(set_.spec().RowsOfChunk(chunk))}, seed_,
                transfer_order_.EpochOf(step), chunk);
  }
  {
    const Span span(Activity::kWaitForDevice);
    memory.AwaitReleased();
  }
  const Span span(Activity::kGpuTransfer);
  FaultPoint(Fault::kTransferShard);
  const Stopwatch watch;
  memory.EnqueueCopy();
  memory.AwaitHost();
  const MutexLock lock(mutex_);
  transfer_.bytes += static_cast<std::int64_t>(set_.spec().BytesOfChunk(chunk));
  transfer_.seconds += watch.Seconds();
}

StageTotals ShardLoader::disk() const {
  const MutexLock lock(mutex_);
  return disk_;
}

StageTotals ShardLoader::transfer() const {
  const MutexLock lock(mutex_);
  return transfer_;
}

}  // namespace tandem
