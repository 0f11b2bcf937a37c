// Batches of examples from shards on disk.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/mutex.h"
#include "base/stop_signal.h"
#include "config/config.h"
#include "data/shard_pipeline.h"
#include "data/shard_set.h"
#include "loaders/loader.h"
#include "nn/device.h"

namespace tandem {

/// ShardLoader moves chunks through three stages, each on its own thread (ShardPipeline). The disk
/// stage reads a chunk into pinned memory, the transfer stage copies it to the device, and the
/// thread that trains gathers batches from it. The stages keep working between updates, so the
/// chunks for update k + 1 are loaded while update k trains.
///
/// If each update trains on R rows, update k trains on rows [k R, (k + 1) R) of the endless
/// sequence of epochs.
///
/// Every batch has the full number of rows. The first call of AwaitRows or Next starts the threads,
/// in the calling thread's timeline; no chunk is read before.
class ShardLoader final : public StoredExamples, private ChunkStages {
 public:
  /// `device` must outlive this object. `input_depth` is the depth of the network's input
  /// (InputFor), which every byte of the stored inputs must be below. The seed determines the order
  /// of chunks and rows. If `from` is set, starts at that position. Throws InputError if `from` is
  /// a position in another set, and DamagedShard if a shard is missing. `interrupter`, if there is
  /// one, ends the waits for chunks, and must outlive this object.
  ShardLoader(Device& device, ShardSet set, int input_depth, const Config& config,
              const std::optional<ShardPosition>& from, Interrupter* interrupter = nullptr);

  void AwaitRows(std::int64_t update) override;

  /// The position of the next batch. For the thread that trains.
  ShardPosition position() const { return position_; }

  // Methods for any thread.

  StageTotals disk() const;
  StageTotals transfer() const;
  const ShardSet& set() const { return set_; }

 private:
  // The chunk that batches are being gathered from.
  struct Current {
    std::size_t slot = 0;
    ShuffledRows rows;
  };

  void Load(std::int64_t step, std::size_t slot) override;
  void Transfer(std::int64_t step, std::size_t slot) override;
  std::optional<Batch> TakeRows(std::int64_t most, std::int64_t update) override;
  void TakeChunk();

  const ShardSet set_;
  const int input_depth_;
  const std::uint64_t seed_;
  Interrupter* const interrupter_;
  std::vector<std::unique_ptr<TransferSlot>> slots_;

  // Used by the thread that trains.
  ShardPosition position_;
  EpochOrder order_;
  std::int64_t first_step_ = 0;  // step of the first chunk to take
  std::int64_t first_row_ = 0;   // first row to use of it; not 0 if the run resumed inside a chunk
  std::optional<Current> current_;

  EpochOrder disk_order_;      // used by the disk thread
  EpochOrder transfer_order_;  // used by the transfer thread

  mutable Mutex mutex_;
  StageTotals disk_ ABSL_GUARDED_BY(mutex_);
  StageTotals transfer_ ABSL_GUARDED_BY(mutex_);

  // Declared last, so that its threads end before the members that they use.
  std::unique_ptr<ShardPipeline> stages_;
};

}  // namespace tandem
