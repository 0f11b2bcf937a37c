// Where the time of a run went.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>

#include "base/stopwatch.h"
#include "base/timeline.h"

namespace tandem {

/// The thread that prefetches for validation, apart from training's.
inline constexpr const char* kValidationPrefetch = "val_prefetch";

/// Of each thread, or group of threads, of a run.
struct ThreadTimes {
  PhaseTimes main, generator, prefetch;
  PhaseTimes validation_prefetch;
  PhaseTimes disk, transfer;  ///< the stages of shards
  PhaseTimes workers;  ///< TBB's threads together, without those above, which work beside them
  std::size_t worker_count = 0;
};

/// The threads that have a track, by name, with the seconds of each phase that took any.
nlohmann::ordered_json ToJson(const ThreadTimes& times);

/// The same as one flat object: "main_forward_s" and so on, in milliseconds' precision, for phases
/// that took at least a hundredth of their thread's time and are not idle.
nlohmann::ordered_json FlatJson(const ThreadTimes& times);

/// What a GPU did in the updates that were traced.
struct GpuTimes {
  struct Stream {
    double kernels_s = 0;
    double copies_s = 0;  ///< and fills of memory
  };
  double traced_s = 0;
  double busy_s = 0;                       ///< at least one stream was at work
  std::map<std::int64_t, Stream> streams;  ///< by their numbers in the trace
};

nlohmann::ordered_json ToJson(const GpuTimes& times);

/// What a run did with its time. All but the first two members leave out the cold start and what
/// comes after the last update.
struct TimeReport {
  ThreadTimes threads;
  double cold_start_s = 0;  ///< the main thread's wait for the first buffer
  double wall_s = 0;
  double generate_critical_s = 0;  ///< the generator side was at work: not waiting for the trainer
  double train_critical_s = 0;     ///< the main thread was at work: not waiting for rows
  double wait_for_rows_s = 0;      ///< it did
  double core_s = 0;               ///< CPU time of all threads of the process
  double main_core_s = 0;          ///< of the main thread
  std::optional<GpuTimes> gpu;     ///< where there is one, and updates were traced
  double generating_thread_s = 0;  ///< work of the generator thread and the workers together
};

/// Keeps a run's timeline. Used by the main thread. Throws Error where a thread works on the
/// timeline that ThreadTimes has no place for.
class RunProfile {
 public:
  /// What was done since `began` was setting up.
  explicit RunProfile(Stopwatch began);

  /// The main thread's own.
  Track& main() { return main_; }
  Timeline& timeline() { return timeline_; }

  /// Call whenever rows have come and training on them begins; the first time ends the cold start.
  void TrainingStarts();

  /// Call when there is no update left: what is done now, such as the last checkpoint, is done once
  /// however long the run was. Goes for the last call if there are several.
  void TrainingEnds() { trained_ = Now(); }

  /// The times since the call before, or the start.
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
  std::optional<Mark> cold_;     // when the cold start ended
  std::optional<Mark> trained_;  // when the last update had ended
};

}  // namespace tandem
