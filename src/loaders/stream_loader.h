// Batches of examples from a stream of shards.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "base/stop_signal.h"
#include "config/config.h"
#include "data/stream_folder.h"
#include "data/stream_reader.h"
#include "loaders/loader.h"
#include "nn/device.h"

namespace tandem {

/// StreamLoader makes batches of the shards of a stream. The rows of a shard are shuffled, in an
/// order that depends on the seed and the shard.
///
/// If all rows of a batch come from the stream, a batch waits until all its rows are there. If this
/// process generates some of them, a batch never waits: it takes fewer rows of the stream if fewer
/// are there, and has no tensors if there are none.
class StreamLoader final : public StoredExamples {
 public:
  /// `folder` is the stream's, and `kind` says what its shards have in common (StreamKind).
  /// Continues after `from`; without it, the folder must hold no shards, because those of another
  /// run would have labels of another network. `device`, `stop` and `interrupter` must outlive this
  /// object.
  StreamLoader(Device& device, const std::filesystem::path& folder, const ShardSetSpec& kind,
               int input_depth, const Config& config, const std::optional<StreamPosition>& from,
               const StopSignal& stop, Interrupter* interrupter);

  // Methods for the thread that trains.

  void AwaitRows(std::int64_t update) override;

  /// Call when weights were published after `updates` updates.
  void OnPublish(std::int64_t updates) { ledger_.OnPublish(updates); }

  StreamPosition position() const { return ledger_.position(); }

  /// What was used since the last call.
  StreamUse TakeUse();
  std::vector<DoneShard> TakeDone() { return ledger_.TakeDone(); }

  /// Call when a checkpoint with this position is complete. Any thread.
  void OnCheckpoint(const StreamPosition& position) { ledger_.OnCheckpoint(position); }

 private:
  std::optional<Batch> TakeRows(std::int64_t most, std::int64_t update) override;
  bool BeginShard(std::int64_t update);

  const c10::Device device_;
  const std::uint64_t seed_;
  const bool pins_;  // copies through pinned memory
  const bool waits_;
  const StreamFolder folder_;
  const FolderLock lock_;
  StreamLedger ledger_;
  std::int64_t reported_rejected_ = 0;
  std::optional<ShuffledRows> current_;  // of the shard that batches are being gathered from
  StreamReader reader_;                  // last, because its thread uses the members above
};

}  // namespace tandem
