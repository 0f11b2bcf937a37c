// Measures where the time of a run goes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/stopwatch.h"
#include "base/timeline.h"
#include "train/training.h"

namespace tandem {

/// Names of the threads that write checkpoints and publish weights.
inline constexpr const char* kWriterThread = "writer";
inline constexpr const char* kPublisherThread = "publisher";

/// ThreadTimes holds the activity times of each thread, or group of threads, of a run.
struct ThreadTimes {
  ActivityTimes main, generator, prefetch;
  ActivityTimes disk, transfer;  ///< the stages of shards
  ActivityTimes reader;          ///< reads the shards of a stream
  ActivityTimes publisher;       ///< writes weights for generators
  ActivityTimes writer;          ///< writes checkpoints
  ActivityTimes workers;  ///< all of TBB's threads together; the threads above are not among them
  std::size_t worker_count = 0;
};

/// Returns the threads that have a track, by name, with the seconds of each activity above 0.
nlohmann::ordered_json ToJson(const ThreadTimes& times);

/// Returns the times as one flat object: "main_forward_s" and so on, rounded to milliseconds. Idle
/// activities, and activities that took less than 1 % of their thread's time, are left out.
nlohmann::ordered_json FlatJson(const ThreadTimes& times);

/// Returns a line for each thread: its activities and their shares of its wall time, largest first.
std::vector<std::string> DescribeTimes(const ThreadTimes& times);

/// `times` are those of an interval that is not empty.
BusyShares BusySharesOf(const ThreadTimes& times);

/// GpuTimes says how busy a GPU was in the traced updates.
struct GpuTimes {
  struct Stream {
    double kernels_s = 0;
    double copies_s = 0;  ///< copies and memory fills
  };
  double traced_s = 0;
  double busy_s = 0;                       ///< while at least one stream was busy
  std::map<std::int64_t, Stream> streams;  ///< by stream number in the trace
};

nlohmann::ordered_json ToJson(const GpuTimes& times);

/// RankReport says how the ranks of a run shared its time. Vectors have an entry for each rank,
/// in seconds.
struct RankReport {
  std::vector<std::string> names;       ///< Ranks::NameOf
  std::vector<double> generate_s;       ///< in fills
  std::vector<double> train_s;          ///< in training, without the waits for batches and ranks
  std::vector<double> wait_for_rows_s;  ///< waiting for buffers
  std::vector<double> wait_for_ranks_s;
};

/// TimeReport says how a run spent its time. All members except the first two and `ranks` leave out
/// the cold start and the time after the last update.
struct TimeReport {
  ThreadTimes threads;
  double cold_start_s = 0;  ///< the main thread's wait for the first rows
  double wall_s = 0;
  double generate_critical_s = 0;  ///< while generation worked instead of waiting for training
  double train_critical_s = 0;     ///< while the main thread worked instead of waiting for others
  double wait_for_rows_s = 0;      ///< while the main thread waited for buffers
  double wait_for_stored_s = 0;    ///< while it waited for shards or a stream
  double wait_for_ranks_s = 0;     ///< while it waited for other ranks
  double wait_for_disk_s = 0;      ///< while it waited until a checkpoint was written
  double core_s = 0;               ///< CPU time of all threads of the process
  double main_core_s = 0;          ///< CPU time of the main thread
  std::optional<GpuTimes> gpu;     ///< only on a GPU, and only if updates were traced
  double generating_thread_s = 0;  ///< work of the generator thread and the workers
  std::optional<RankReport> ranks = {};  ///< of all updates; only if ranks trained together

  /// Time in which the main thread waited for others.
  double waits_s() const {
    return wait_for_rows_s + wait_for_stored_s + wait_for_ranks_s + wait_for_disk_s;
  }
};

/// RunProfile owns the timeline of a run. Only the main thread uses it. Its methods throw Error
/// if the timeline has a thread for which ThreadTimes has no member.
class RunProfile {
 public:
  /// The time since `began` counts as set-up.
  explicit RunProfile(Stopwatch began);

  /// The track of the main thread.
  Track& main() { return main_; }
  Timeline& timeline() { return timeline_; }

  /// Call whenever training on new rows begins, once the first of them are there. The first call
  /// ends the cold start.
  void OnTrainingStart();

  /// Call after the last update. Later work, such as the last checkpoint, does not depend on the
  /// length of the run and is left out of the report. If called several times, the last call
  /// counts.
  void OnTrainingEnd() { trained_ = Now(); }

  /// Returns the times since the previous call, or since the start.
  ThreadTimes TakeTimes();

  TimeReport Report() const;

 private:
  struct Mark {
    ThreadTimes times;
    double core_s;
    double main_core_s;
  };

  ThreadTimes Times() const;
  Mark Now() const;

  Timeline timeline_;
  Track& main_;
  ThreadTimes taken_;
  std::optional<Mark> cold_;     // at the end of the cold start
  std::optional<Mark> trained_;  // at the end of the last update
};

}  // namespace tandem
