// A loop whose turns are prepared and finished by workers while the calling thread evaluates.
#pragma once

#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_group.h>

#include <array>
#include <cstdint>
#include <functional>
#include <utility>

#include "base/parallel.h"
#include "base/stop_signal.h"
#include "base/timeline.h"
#include "generate/row_ranges.h"

namespace tandem {

/// PipelinedLoop runs a loop whose turns have three stages: prepare, evaluate and finish. The
/// calling thread evaluates a turn while the workers of an arena finish the turn before it and then
/// prepare the turn after it. The calling thread counts as one of the workers and helps them once
/// its evaluation is done. With a single worker, the arena's stages and evaluation therefore
/// alternate.
///
/// The stages of a turn run in order: prepare(i) in the arena, evaluate(i) on the calling thread,
/// and finish(i) in the arena. All stages of turn i have returned before prepare(i + 2) starts, so
/// two sets of memory are enough: one for even turns and one for odd turns.
///
/// The arena runs one stage at a time, in the order prepare(0), prepare(1), finish(0), prepare(2),
/// finish(1), prepare(3), and so on. evaluate(i) runs at the same time as finish(i - 1) and
/// prepare(i + 1), and as no other stage.
///
/// prepare counts as the activity kGenerate, and finish as kBackUp.
///
/// Not thread-safe.
class PipelinedLoop {
 public:
  using Turn = std::function<void(std::int64_t)>;

  /// Starts to prepare turn 0. `arena` and `stop` must outlive this.
  PipelinedLoop(tbb::task_arena& arena, std::int64_t turns, const StopSignal& stop, Turn prepare,
                Turn evaluate, Turn finish)
      : arena_(arena),
        turns_(turns),
        stop_(stop),
        prepare_(std::move(prepare)),
        evaluate_(std::move(evaluate)),
        finish_(std::move(finish)) {
    StartStagesBeside(-1);
  }

  /// Waits for the stages that were started. If not all turns are done, the turn that was evaluated
  /// last stays unfinished.
  ~PipelinedLoop() {
    try {
      WaitForStages();  // they use objects of the caller
    } catch (...) {
      // Step has thrown another exception, or the caller does not want the remaining turns.
    }
  }
  PipelinedLoop(const PipelinedLoop&) = delete;
  PipelinedLoop& operator=(const PipelinedLoop&) = delete;

  /// Waits until the next turn is prepared, starts to finish the turn before it and to prepare the
  /// turn after it, and evaluates the next turn. When Step returns for the last turn, all turns are
  /// finished. When it returns for another turn i, those up to i - 2 are.
  ///
  /// Returns false, and does nothing, if all turns are done. Throws Stopped if `stop` is reached
  /// before the evaluation, and whatever a stage throws. After an exception the loop can only be
  /// destroyed.
  bool Step() {
    if (next_ == turns_) return false;
    WaitForStages();
    if (stop_.Reached()) throw Stopped();
    StartStagesBeside(next_);
    evaluate_(next_++);
    if (next_ == turns_) FinishLastTurn();
    return true;
  }

  /// Does all remaining turns. Throws like Step.
  void Run() {
    while (Step()) {
    }
  }

 private:
  // Starts the stages that run while the calling thread evaluates `turn`. For -1 and turns_, which
  // are not turns, these are the first and the last stage of the loop.
  void StartStagesBeside(std::int64_t turn) {
    if (turns_ == 0) return;
    SanitizerRelease(this);
    arena_.execute([&] {
      stages_.run([this, turn] {
        SanitizerAcquire(this);
        RunStagesBeside(turn);
        SanitizerRelease(this);
      });
    });
  }

  void RunStagesBeside(std::int64_t turn) {
    const Attach attach(timeline_);
    // Both turns use the same memory, so the order matters.
    if (turn > 0) {
      const Span span(Activity::kBackUp);
      finish_(turn - 1);
    }
    if (turn + 1 < turns_) {
      const Span span(Activity::kGenerate);
      prepare_(turn + 1);
    }
  }

  void WaitForStages() {
    const Span span(Activity::kWaitForWorkers);
    arena_.execute([&] { stages_.wait(); });
    SanitizerAcquire(this);
  }

  void FinishLastTurn() {
    WaitForStages();  // for the turn before the last one
    StartStagesBeside(turns_);
    WaitForStages();
  }

  tbb::task_arena& arena_;
  const std::int64_t turns_;
  const StopSignal& stop_;
  const Turn prepare_;
  const Turn evaluate_;
  const Turn finish_;
  Timeline* const timeline_ = Timeline::Current();
  std::int64_t next_ = 0;
  tbb::task_group stages_;  // at most one task, which runs the stages beside one turn
};

/// Runs a PipelinedLoop in which each of `ranges` takes `steps` steps. The two ranges of a pair
/// take turns, each in its own group, so that one can be prepared while the other is evaluated. A
/// pair takes all its steps before the next pair begins. If the last range has no partner, every
/// second turn has an empty range. Sets `range` and `step` of a group before each of its turns.
template <class Group>
void RunInPairs(tbb::task_arena& arena, const RowRanges& ranges, std::int64_t steps,
                std::array<Group, 2>& groups, const StopSignal& stop, const auto& prepare,
                const auto& evaluate, const auto& finish) {
  const auto prepare_turn = [&](std::int64_t turn) {
    Group& group = groups[turn % 2];
    const std::int64_t range = turn / (2 * steps) * 2 + turn % 2;
    group.range = range < ranges.size() ? ranges[range] : RowRange{};
    group.step = turn / 2 % steps;
    prepare(group);
  };
  const auto evaluate_turn = [&](std::int64_t turn) { evaluate(groups[turn % 2]); };
  const auto finish_turn = [&](std::int64_t turn) { finish(groups[turn % 2]); };
  const std::int64_t turns = (ranges.size() + 1) / 2 * 2 * steps;
  PipelinedLoop(arena, turns, stop, prepare_turn, evaluate_turn, finish_turn).Run();
}

}  // namespace tandem
