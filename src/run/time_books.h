// Where the time of a run went.
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>

#include "base/stopwatch.h"
#include "base/timeline.h"
#include "pipeline/pipeline.h"

namespace tandem {

/// Of each thread, or group of threads, of a run.
struct ThreadTimes {
  PhaseTimes main, generator, prefetch;
  PhaseTimes workers;  ///< TBB's threads together, without those above, which work beside them
  std::size_t worker_count = 0;
};

/// The threads that have a track, by name, with the seconds of each phase that took any.
nlohmann::ordered_json ToJson(const ThreadTimes& times);

/// What "time" in summary.json holds. The critical times leave the cold start out.
struct TimeReport {
  ThreadTimes threads;
  double cold_start_s = 0;         ///< the main thread's wait for the first buffer
  double generate_critical_s = 0;  ///< the generator side was at work: not waiting for the trainer
  double train_critical_s = 0;     ///< the main thread was at work: not waiting for rows
  double wait_for_rows_s = 0;      ///< it did
};

/// Keeps a run's timeline. Used by the main thread.
class TimeBooks {
 public:
  /// What was done since `began` was setting up.
  explicit TimeBooks(Stopwatch began);

  /// The main thread's own.
  Track& main() { return main_; }

  /// Call before each update; the first begins with the cold start.
  void UpdateStarts();

  /// Call when an update has been trained.
  void UpdateEnds(const UpdateRecord& record);

  /// The times since the call before, or the start.
  ThreadTimes TakeTimes();

  TimeReport Report() const;

 private:
  ThreadTimes Times() const;

  Timeline timeline_;
  Track& main_;
  ThreadTimes taken_;
  std::int64_t updates_ = 0;  // that have ended
  bool started_ = false;
  PhaseTimes main_before_;  // before the cold start
  double cold_start_s_ = 0;
  double generate_critical_s_ = 0;
};

}  // namespace tandem
