#include "loaders/stream_loader.h"

#include <ATen/ops/empty.h>
#include <fmt/format.h>

#include <utility>

#include "base/text.h"
#include "base/timeline.h"
#include "data/shard_set.h"
#include "tensor/device_rows.h"

namespace tandem {
namespace {

// Makes the folder and locks it. Throws InputError if another run takes its shards, or if a new run
// would take those of an earlier one.
FolderLock Claim(const StreamFolder& folder, bool is_new) {
  folder.Create();
  FolderLock lock = folder.Lock();
  const std::int64_t shards = std::ssize(folder.List().waiting) + std::ssize(folder.Used());
  if (!is_new || shards == 0) return lock;
  throw InputError(fmt::format(
      "{}: holds {} of an earlier run, whose labels come from another network. Remove them, or set "
      "data.path to another folder.",
      folder.path().string(), Counted(shards, "shard")));
}

}  // namespace

StreamLoader::StreamLoader(Device& device, const std::filesystem::path& folder,
                           const ShardSetSpec& kind, int input_depth, const Config& config,
                           const std::optional<StreamPosition>& from, const StopSignal& stop,
                           Interrupter* interrupter)
    : StoredExamples(config),
      device_(device.torch()),
      seed_(config.random_seed()),
      pins_(config.prefetch.pin_memory),
      waits_(config.live_rows() == 0),
      folder_(folder),
      lock_(Claim(folder_, !from.has_value())),
      ledger_(folder_, from.value_or(StreamPosition()), config.data.max_lag),
      reader_(folder_,
              {.kind = kind, .input_depth = input_depth, .first = ledger_.position().current}, stop,
              interrupter) {}

void StreamLoader::AwaitRows(std::int64_t update) {
  if (waits_ && !current_) BeginShard(update);
}

std::optional<Batch> StreamLoader::TakeRows(std::int64_t most, std::int64_t update) {
  if (!current_ && !BeginShard(update)) return std::nullopt;
  const Span span(Activity::kGather);
  Batch batch = current_->Take(most);
  ledger_.Use(batch.targets.size(0), update);
  if (current_->left() == 0) {
    ledger_.End();
    current_.reset();
  }
  return batch;
}

// Begins the next shard that the ledger accepts. Returns whether there is one.
bool StreamLoader::BeginShard(std::int64_t update) {
  std::optional<StreamShard> shard;
  std::optional<std::int64_t> first_row;
  while (!first_row) {
    shard = reader_.Take(waits_);
    if (!shard) return false;
    first_row = ledger_.Begin(shard->name, update);
  }
  const Span span(Activity::kHostToDevice);
  const DataBuffer& rows = shard->rows;
  // From memory that is not pinned, a copy waits until the device has done all steps before it.
  const auto to_device = [&](const at::Tensor& host) {
    if (device_.is_cpu()) return host.clone();
    return pins_ ? host.pin_memory().to(device_, /*non_blocking=*/true) : host.to(device_);
  };
  const auto column = [&](std::size_t index) {
    return to_device(ColumnTensor(rows, index, at::kCPU));
  };
  at::Tensor order = at::empty({shard->name.rows}, at::kInt);
  ShuffleRows({order.data_ptr<std::int32_t>(), static_cast<std::size_t>(shard->name.rows)}, seed_,
              /*epoch=*/0, shard->name.first_row);
  current_ = ShuffledRows{
      .all = MakeBatch(rows.schema(), column), .order = to_device(order), .next = *first_row};
  return true;
}

StreamUse StreamLoader::TakeUse() {
  StreamUse use = ledger_.TakeUse();
  const std::int64_t rejected = reader_.rejected();
  use.rejected_shards = rejected - std::exchange(reported_rejected_, rejected);
  use.waiting_shards = reader_.waiting();
  return use;
}

}  // namespace tandem
