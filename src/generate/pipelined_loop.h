// A loop whose turns are prepared by workers while the calling thread evaluates.
#pragma once

#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_group.h>

#include <cstdint>
#include <functional>
#include <utility>

#include "base/parallel.h"
#include "base/stop_signal.h"
#include "base/timeline.h"

namespace tandem {

/// PipelinedLoop runs a loop in which workers prepare turn i + 1 while the calling thread evaluates
/// turn i. The calling thread counts as one of the workers and helps to prepare once its evaluation
/// is done. With a single worker, preparation and evaluation therefore alternate.
///
/// For each turn i, prepare(i) runs in the arena and then evaluate(i) on the calling thread.
/// prepare(i) starts after evaluate(i - 2) has returned and runs at the same time as
/// evaluate(i - 1), so two sets of memory are enough: one for even turns and one for odd turns.
///
/// Not thread-safe.
class PipelinedLoop {
 public:
  using Turn = std::function<void(std::int64_t)>;

  /// Starts to prepare turn 0. `arena` and `stop` must outlive this.
  PipelinedLoop(tbb::task_arena& arena, std::int64_t turns, const StopSignal& stop, Turn prepare,
                Turn evaluate)
      : arena_(arena),
        turns_(turns),
        stop_(stop),
        prepare_(std::move(prepare)),
        evaluate_(std::move(evaluate)) {
    StartPreparing(0);
  }

  /// Waits until no turn is being prepared.
  ~PipelinedLoop() {
    try {
      FinishPreparing();  // the task uses objects of the caller
    } catch (...) {
      // Step has thrown another exception, or the caller does not want the remaining turns.
    }
  }
  PipelinedLoop(const PipelinedLoop&) = delete;
  PipelinedLoop& operator=(const PipelinedLoop&) = delete;

  /// Waits until the next turn is prepared, starts to prepare the one after it, and evaluates the
  /// next turn. Returns false, and does nothing, if all turns are done. Throws Stopped once `stop`
  /// is reached, and whatever `prepare` or `evaluate` throws. After an exception the loop can only
  /// be destroyed.
  bool Step() {
    if (next_ == turns_) return false;
    FinishPreparing();
    if (stop_.Reached()) throw Stopped();
    StartPreparing(next_ + 1);
    evaluate_(next_++);
    return true;
  }

  /// Does all remaining turns. Throws like Step.
  void Run() {
    while (Step()) {
    }
  }

 private:
  void StartPreparing(std::int64_t turn) {
    if (turn >= turns_) return;
    SanitizerRelease(this);
    arena_.execute([&] {
      preparation_.run([this, turn] {
        SanitizerAcquire(this);
        {
          const Attach attach(timeline_);
          const Span span(Phase::kGenerate);
          prepare_(turn);
        }
        SanitizerRelease(this);
      });
    });
  }

  void FinishPreparing() {
    const Span span(Phase::kWaitForWorkers);
    arena_.execute([&] { preparation_.wait(); });
    SanitizerAcquire(this);
  }

  tbb::task_arena& arena_;
  const std::int64_t turns_;
  const StopSignal& stop_;
  const Turn prepare_;
  const Turn evaluate_;
  Timeline* const timeline_ = Timeline::Current();
  std::int64_t next_ = 0;
  tbb::task_group preparation_;
};

}  // namespace tandem
