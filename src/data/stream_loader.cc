#include "data/stream_loader.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/index_select.h>
#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/text.h"
#include "base/timeline.h"
#include "data/epoch_order.h"
#include "data/examples.h"

namespace tandem {
namespace {

// A copy of column `index` on `device`.
at::Tensor ColumnOn(c10::Device device, DataBuffer& rows, std::size_t index) {
  const Column& column = rows.schema().columns[index];
  const at::ScalarType type = column.type == ElementType::kUint8 ? at::kByte : at::kFloat;
  const at::Tensor host = at::from_blob(
      rows.column(index).data(),
      {static_cast<std::int64_t>(rows.rows()), static_cast<std::int64_t>(column.width)}, type);
  return host.to(device, /*non_blocking=*/false, /*copy=*/true);
}

const StreamFolder& Created(const StreamFolder& folder, bool is_new) {
  folder.Create();
  const std::int64_t shards = std::ssize(folder.List().waiting) + std::ssize(folder.Used());
  if (!is_new || shards == 0) return folder;
  throw InputError(fmt::format(
      "{}: holds {} of an earlier run, whose labels come from another network. Remove them, or set "
      "data.path to another folder.",
      folder.path().string(), Counted(shards, "shard")));
}

}  // namespace

class StreamLoader::Iterator final : public BatchIterator {
 public:
  Iterator(StreamLoader& loader, std::int64_t update) : loader_(loader), update_(update) {}

  // A gathered batch has its own memory.
  Batch Next() override { return loader_.Next(update_); }

 private:
  StreamLoader& loader_;
  const std::int64_t update_;
};

StreamLoader::StreamLoader(Device& device, const std::filesystem::path& folder,
                           const ShardSetSpec& kind, int input_depth, const Config& config,
                           const std::optional<StreamPosition>& from, const StopSignal& stop,
                           Interrupter* interrupter)
    : device_(device.torch()),
      seed_(static_cast<std::uint64_t>(config.seed)),
      waits_(config.live_rows_of(0) == 0),
      folder_(folder),
      ledger_(Created(folder_, !from.has_value()), from.value_or(StreamPosition())),
      reader_(folder_, ledger_,
              {.kind = kind,
               .input_depth = input_depth,
               .max_lag = config.data.max_lag,
               .read_ahead = config.data.cpu_prefetch},
              stop, interrupter) {}

std::unique_ptr<BatchIterator> StreamLoader::Open(std::int64_t update) {
  return std::make_unique<Iterator>(*this, update);
}

Batch StreamLoader::Next(std::int64_t update) {
  std::vector<Batch> parts;
  for (std::int64_t left = batch_size_; left > 0;) {
    if (!current_ && !TakeShard(update)) break;
    parts.push_back(Gather(left, update));
    left -= parts.back().targets.size(0);
  }
  if (parts.empty()) return {};
  return parts.size() == 1 ? parts.front() : Concatenate(parts);
}

// Returns whether there is a shard.
bool StreamLoader::TakeShard(std::int64_t update) {
  std::optional<StreamShard> shard = reader_.Take(update, waits_);
  if (!shard) return false;
  const Span span(Phase::kHostToDevice);
  DataBuffer& rows = shard->rows;
  at::Tensor order = at::empty({shard->name.rows}, at::kInt);
  ShuffleRows({order.data_ptr<std::int32_t>(), static_cast<std::size_t>(shard->name.rows)}, seed_,
              /*epoch=*/0, shard->name.first_row);
  current_ = Current{
      .name = shard->name,
      .next = shard->first,
      .inputs = ColumnOn(device_, rows, kInputColumn),
      .targets = ColumnOn(device_, rows, kTargetColumn),
      .weights = HasWeights(rows.schema()) ? ColumnOn(device_, rows, kWeightColumn) : at::Tensor(),
      .order = order.to(device_)};
  return true;
}

// Gathers the next rows of the current shard: at least 1 and at most `most`.
Batch StreamLoader::Gather(std::int64_t most, std::int64_t update) {
  const Span span(Phase::kGather);
  Current& shard = *current_;
  const std::int64_t count = std::min(most, shard.name.rows - shard.next);
  const at::Tensor picked = shard.order.narrow(0, shard.next, count);
  Batch batch{.inputs = at::index_select(shard.inputs, 0, picked),
              .targets = at::index_select(shard.targets, 0, picked)};
  if (shard.weights.defined()) batch.weights = at::index_select(shard.weights, 0, picked);
  shard.next += count;
  ledger_.Use(count, update);
  if (shard.next == shard.name.rows) {
    ledger_.End();
    current_.reset();
  }
  return batch;
}

StreamUse StreamLoader::TakeUse() {
  StreamUse use = ledger_.TakeUse();
  const std::int64_t rejected = reader_.rejected();
  use.rejected_shards = rejected - std::exchange(reported_rejected_, rejected);
  use.waiting_shards = reader_.waiting();
  return use;
}

std::int64_t StreamLoader::BytesFor(const ShardSetSpec& kind, const DataConfig& config) {
  // Those that wait in memory, the one that is being read, and the one that batches come from.
  return (config.cpu_prefetch + 2) *
         static_cast<std::int64_t>(
             DataBuffer::BytesFor(kind.schema, static_cast<std::size_t>(config.stream_rows)));
}

}  // namespace tandem
