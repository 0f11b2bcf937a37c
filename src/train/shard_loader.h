// Batches from shards on disk.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "config/train_config.h"
#include "nn/device.h"
#include "shards/epoch_order.h"
#include "shards/shard_pipeline.h"
#include "shards/shard_set.h"
#include "train/data_loader.h"

namespace tandem {

struct ShardLoaderOptions {
  std::uint64_t seed = 0;  ///< of the order of chunks and rows
  QueueDepths depths;
  ChunkReading reading = ChunkReading::kRead;
  OnDamage on_damage = OnDamage::kStop;
  SlotOptions slots;
};

QueueDepths DepthsFor(const DataConfig& config);

/// How far training is in a set, so that it can go on from there.
struct ShardPosition {
  std::string set;        ///< ShardSetSpec::Identity
  std::int64_t rows = 0;  ///< of the endless sequence (EpochOrder), those skipped included
  std::int64_t skipped_chunks = 0;  ///< that were damaged
  std::int64_t skipped_rows = 0;
};

/// What a stage has done.
struct StageFigures {
  std::int64_t bytes = 0;
  double seconds = 0;  ///< at work, not waiting

  double GbPerSecond() const {
    return seconds > 0 ? static_cast<double>(bytes) / seconds * 1e-9 : 0;
  }
};

/// Three stages, each with a thread of its own (ShardPipeline): chunks are read from disk into
/// pinned memory, copied to the device, and there trained on; the thread that trains gathers each
/// batch from the chunk on the device. Chunks stay on their way between updates, so what update k +
/// 1 needs is fetched while update k trains.
///
/// Update k trains on rows [k R, (k + 1) R) of the endless sequence of epochs, R being the rows of
/// its batches; a chunk that is skipped, for damage, moves all later updates up by its rows.
class ShardLoader final : public DataLoader, private ChunkStages {
 public:
  /// `device` must outlive this. With `from`, goes on there; throws InputError if that was another
  /// set, or if a map is to be read of one that is compressed. Throws DamagedShard if shards are
  /// missing and damage is not to be skipped.
  ShardLoader(Device& device, ShardSet set, ShardLoaderOptions options,
              const std::optional<ShardPosition>& from);
  ~ShardLoader() override;

  /// The next batches; `rows` are not looked at. They come without end: the source may go at any
  /// time, and the next goes on behind the last batch that was asked for. Chunks are first read
  /// when the first source is opened, by threads of the timeline that then is.
  std::unique_ptr<BatchIterator> Open(const DataBuffer& rows, std::int64_t update) override;

  /// Of all batches from now on; 1 at first. For the thread that trains, as the next.
  void UseBatchSize(std::int64_t rows) { batch_size_ = rows; }

  /// Where the next batch begins.
  ShardPosition position() const { return position_; }

  StageFigures disk() const;
  StageFigures transfer() const;
  const ShardSet& set() const { return set_; }

  /// The memory of the slots on the host; a GPU needs as much again.
  static std::int64_t BytesFor(const ShardSetSpec& set, QueueDepths depths);

 private:
  class Source;

  // The chunk that training is at.
  struct Current {
    std::size_t slot = 0;
    std::int64_t rows = 0;
    std::int64_t next = 0;  // row in the shuffled order
    at::Tensor inputs, targets, order;
  };

  bool Load(std::int64_t step, std::size_t slot) override;
  void Transfer(std::int64_t step, std::size_t slot) override;
  void ReadChunk(std::int64_t chunk, std::span<std::byte> to) const;
  Batch Gather(std::int64_t most);
  void TakeChunk();
  void CountSkipped(std::int64_t end);

  const ShardSet set_;
  const ShardLoaderOptions options_;
  std::vector<std::unique_ptr<TransferSlot>> slots_;

  // Of the thread that trains.
  std::int64_t batch_size_ = 1;
  ShardPosition position_;
  EpochOrder order_;
  std::int64_t next_step_ = 0;  // to take
  std::int64_t first_row_ = 0;  // of that chunk: not 0 where training goes on in the middle of it
  std::optional<Current> current_;

  EpochOrder disk_order_;           // of the disk thread
  std::set<std::int64_t> damaged_;  // likewise: the chunks that could not be read when last tried
  std::set<std::string> told_;      // likewise: what was wrong with chunks so far
  EpochOrder transfer_order_;       // of the transfer thread

  mutable std::mutex mutex_;
  StageFigures disk_, transfer_;  // guarded by mutex_

  std::unique_ptr<ShardPipeline> stages_;  // last: its threads use everything above
};

}  // namespace tandem
