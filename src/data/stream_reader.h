// Reads the shards of a stream as they appear, and records which rows a run has used.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "base/stop_signal.h"
#include "base/worker.h"
#include "data/stream_folder.h"

namespace tandem {

/// The name of the reader's thread, in traces.
inline constexpr const char* kStreamThread = "reader";

/// StreamShard is a shard that was read and checked.
struct StreamShard {
  StreamShardName name;
  DataBuffer rows;
};

/// StreamOptions says what a StreamReader reads.
struct StreamOptions {
  ShardSetSpec kind;            ///< what all shards have in common (StreamKind)
  int input_depth = 0;          ///< every byte of an input must be below it
  std::int64_t read_ahead = 2;  ///< shards in memory that wait to be taken
  /// File that the run has used in part, which is read before all others. Empty: no file.
  std::string first;
};

/// StreamReader looks for shards on its own thread, reads and checks each one, and keeps a few in
/// memory. A file that is damaged or belongs to something else is named in a warning and moved to
/// rejected/. A file that the system refuses to read says nothing about its rows; it is tried again
/// every second. Methods are for the thread that trains, unless they say otherwise.
class StreamReader {
 public:
  /// `folder`, `stop` and `interrupter` must outlive this object. `interrupter` may be null; it
  /// ends the waits of Take. Starts the thread, in the calling thread's timeline.
  StreamReader(const StreamFolder& folder, StreamOptions options, const StopSignal& stop,
               Interrupter* interrupter);
  ~StreamReader() { ready_.Close(std::make_exception_ptr(Stopped())); }
  StreamReader(const StreamReader&) = delete;
  StreamReader& operator=(const StreamReader&) = delete;

  /// Returns the next shard, which stays in the folder until its user moves it. With `wait`, waits
  /// for a shard, throws Stopped once the stop signal is reached, and throws the interrupter's
  /// reason. Without it, returns nothing if none is ready. Throws what ended the thread.
  std::optional<StreamShard> Take(bool wait);

  /// The number of shards that were rejected since this object was made. Any thread may call it.
  std::int64_t rejected() const { return rejected_; }

  /// The shards in the folder when it was last listed, including those in memory. For any thread.
  std::int64_t waiting() const { return waiting_; }

 private:
  [[noreturn]] void Run();
  void Look();
  std::optional<StreamShardName> NextOf(const std::vector<StreamShardName>& waiting) const;
  void ReadOne(const StreamShardName& name);
  void Reject(const std::string& file, const std::string& why);

  const StreamFolder& folder_;
  const StreamOptions options_;
  const StopSignal& stop_;

  // Used by the thread, about files that wait: those that were read, and when to try again to read
  // those that the system refused to read.
  std::set<std::string> read_;
  std::map<std::string, StopSignal::Clock::time_point> refused_;

  Channel<StreamShard> ready_;
  std::atomic<std::int64_t> rejected_{0};
  std::atomic<std::int64_t> waiting_{0};
  Interrupter::Registration interrupts_;
  Worker thread_;  // last, because it uses everything above
};

/// StreamPosition says which rows of a stream a run has used, so that a resumed run uses none
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
  std::int64_t waiting_shards = 0;  ///< in the folder when it was last read
};

/// DoneShard is a shard that a run has used or dropped.
struct DoneShard {
  StreamShardName name;
  std::int64_t rows_used = 0;
  std::int64_t lag = 0;
};

/// StreamLedger decides which shards are new enough, records which rows a run uses, and moves the
/// shards that are done. A shard that is done is deleted only after a checkpoint has counted it, so
/// a resumed run uses exactly the rows that its checkpoint does not count. Use it from the thread
/// that trains, except OnCheckpoint.
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
  /// object was made. If the shard is too old, drops its rest, moves it to used/, and returns
  /// nothing.
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
  StreamPosition position_;  // without `done`
  mutable Mutex mutex_;
  std::vector<std::string> not_deleted_ ABSL_GUARDED_BY(mutex_);  // StreamPosition::done
  std::optional<StreamShardName> begun_;
  std::int64_t lag_ = 0;  // of the rows that were last used
  StreamUse use_;
  std::vector<DoneShard> done_;
};

}  // namespace tandem
