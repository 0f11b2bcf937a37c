// The ledger of the rows of a stream that a run has used.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "data/stream_folder.h"

namespace tandem {

/// StreamPosition says which rows of a stream a run has used, so that a resumed run uses no row
/// twice.
struct StreamPosition {
  std::string current;            ///< file that was used in part; empty: no file
  std::int64_t current_rows = 0;  ///< how many of its rows were used
  std::vector<std::string> done;  ///< files in used/, sorted by the time of their use
  // Totals of the run. Those of rows include the rows of `current`.
  std::int64_t used_rows = 0;
  std::int64_t used_shards = 0;
  std::int64_t dropped_rows = 0;  ///< too old when their turn came
  std::int64_t dropped_shards = 0;
};

/// StreamUse says what one update used of a stream.
struct StreamUse {
  std::int64_t rows = 0;
  std::map<std::string, std::int64_t> rows_by_generator;
  // Lag of a row: the run's completed updates when it used the row, minus those of the network that
  // labelled it, and at least 0. All three are 0 without rows.
  std::int64_t lag_min = 0;
  std::int64_t lag_max = 0;
  double lag_sum = 0;  ///< over the rows
  std::int64_t dropped_rows = 0;
  std::int64_t rejected_shards = 0;
  std::int64_t waiting_shards = 0;  ///< in the folder at the end of the update
};

/// DoneShard is a shard that a run has used or dropped.
struct DoneShard {
  StreamShardName name;
  std::int64_t rows_used = 0;
  std::int64_t lag = 0;
};

/// StreamLedger decides which shards are new enough, records which rows a run uses, and moves the
/// shards that are done. A shard that is done is deleted only after a checkpoint has counted it, so
/// a run that was killed and resumed uses exactly the rows that its checkpoint does not count. Use
/// it from the thread that trains, except OnCheckpoint.
class StreamLedger {
 public:
  /// Continues after `from`. Shards that were done after that moment wait again, and those that
  /// were done before it are deleted. `max_lag` is data.max_lag. `folder` must outlive this object.
  StreamLedger(const StreamFolder& folder, StreamPosition from, std::int64_t max_lag);

  /// Call when weights were published after `updates` updates.
  void OnPublish(std::int64_t updates) { published_ = updates; }

  /// Whether rows of this version are too old for update `update`: their labels come from a network
  /// that is more than max_lag updates behind, and newer weights have been published since.
  bool IsTooOld(std::int64_t version, std::int64_t update) const {
    return version < published_ && update - version > max_lag_;
  }

  /// Begins to use a shard in update `update`. Returns how many of its rows were used before this
  /// object was made. If the shard is too old, drops its remaining rows, moves it to used/, and
  /// returns nothing.
  std::optional<std::int64_t> Begin(const StreamShardName& name, std::int64_t update);

  /// Counts rows of the shard that was begun, trained on in update `update`.
  void Use(std::int64_t rows, std::int64_t update);

  /// Ends the shard that was begun: moves it to used/.
  void End();

  /// What was used since the last call.
  StreamUse TakeUse();

  /// The shards that were done since the last call.
  std::vector<DoneShard> TakeDone();

  StreamPosition position() const;

  /// Deletes the shards that a complete checkpoint counts as done. May be called from any thread.
  void OnCheckpoint(const StreamPosition& position);

 private:
  void Drop(const StreamShardName& name, std::int64_t update);
  void MarkDone(const StreamShardName& name, std::int64_t rows_used);

  const StreamFolder& folder_;
  const std::int64_t max_lag_;
  std::int64_t published_ = 0;
  mutable std::mutex mutex_;
  StreamPosition position_;  // `done` is guarded by mutex_
  std::optional<StreamShardName> begun_;
  std::int64_t lag_ = 0;  // of the rows that were last used
  StreamUse use_;
  std::vector<DoneShard> done_;
};

}  // namespace tandem
