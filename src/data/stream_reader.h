// Reads the shards of a stream as they appear.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/interrupter.h"
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
  std::int64_t read_ahead = 1;  ///< shards in memory that wait to be taken
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
  ~StreamReader();
  StreamReader(const StreamReader&) = delete;
  StreamReader& operator=(const StreamReader&) = delete;

  /// Returns the next shard, which stays in the folder until its user moves it. With `wait`, waits
  /// for a shard, throws Stopped once the stop signal is reached, and throws the interrupter's
  /// reason. Without it, returns nothing if none is ready. Throws what ended the thread.
  std::optional<StreamShard> Take(bool wait);

  /// The number of shards that were rejected since this object was made. Any thread may call it.
  std::int64_t rejected() const;

  /// The number of shards that waited when the folder was last listed, including those in memory.
  /// Any thread may call it.
  std::int64_t waiting() const;

 private:
  void Run();
  void Look();
  std::optional<StreamShardName> NextOf(const std::vector<StreamShardName>& waiting) const;
  void ReadOne(const StreamShardName& name);
  void Reject(const std::string& file, const std::string& why);
  bool WaitForRoom();
  void Close(std::exception_ptr reason);

  const StreamFolder& folder_;
  const StreamOptions options_;
  const StopSignal& stop_;

  // Used by the thread, about files that wait: those that were read, and when to try again to read
  // those that the system refused to read.
  std::set<std::string> read_;
  std::map<std::string, StopSignal::Clock::time_point> refused_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<StreamShard> ready_;  // this and the following members are guarded by mutex_
  std::int64_t rejected_ = 0;
  std::int64_t waiting_ = 0;
  bool ends_ = false;
  std::exception_ptr reason_;  // why no more shards can be taken

  std::optional<Interrupter::Registration> interrupts_;
  Worker thread_;  // last, because it uses everything above
};

}  // namespace tandem
