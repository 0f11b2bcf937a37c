// The loops of searches that advance one depth, or many puzzles, at a time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "base/stop_signal.h"
#include "base/stopwatch.h"
#include "search/search.h"
#include "tandem/error.h"

namespace tandem {

/// Calls go_deeper(within, solution) until it sets `solution` or returns the limit that it met,
/// unless there is one already. It should throw Stopped once `within` is reached: after
/// `max_seconds`, if that is above 0, which ends the loop at the time limit, or together with
/// `stop`, which ends it with Stopped. Sets `solved`, `actions` and, at a limit, `stop_reason` of
/// the result.
template <class GoDeeper>
void SolveDepthByDepth(std::optional<std::vector<Action>> solution, std::optional<StopReason> limit,
                       double max_seconds, const StopSignal& stop, SearchResult& result,
                       const GoDeeper& go_deeper) {
  StopSignal within(&stop);
  if (max_seconds > 0) within.SetDeadlineIn(max_seconds);
  while (!solution && !limit) {
    try {
      if (within.Reached()) throw Stopped();
      limit = go_deeper(within, solution);
    } catch (const Stopped&) {
      if (stop.Reached()) throw;
      limit = StopReason::kTimeLimit;
    }
  }
  if (limit) result.stop_reason = *limit;
  result.solved = solution.has_value();
  if (solution) result.actions = std::move(*solution);
}

/// NearestChild is the child of least estimate that a beam has kept, on paths from the position
/// itself. Its parent is `depth` steps from the start.
struct NearestChild {
  float estimate;
  std::size_t depth;
  std::int64_t child;  ///< as Expander numbers the children of a depth
};

/// Fills in the fields of a beam's result that follow from its solution or its nearest child, whose
/// path is path_to(*nearest).
template <class PathTo>
void FinishBeam(const DomainSpec& spec, const std::optional<NearestChild>& nearest,
                const PathTo& path_to, SearchResult& result) {
  result.cost = CostOf(spec, result.actions);
  if (result.solved) {
    result.stop_reason = StopReason::kSolved;
  } else if (nearest) {
    result.best = {.actions = path_to(*nearest), .estimate = nearest->estimate};
    result.best->cost = CostOf(spec, result.best->actions);
  }
}

/// Solves groups of a few thousand problems, one after another, so that memory does not grow with
/// their number. The puzzles of a group advance in lock step and share the time of a step evenly.
///
/// begin(group) returns a puzzle for each problem of a group, in a struct that has its `number` in
/// the group, its `result` and, once it has ended, why in `stop_reason`. prepare(puzzle) ends the
/// puzzle or prepares its next step, and step(puzzles) makes the step of all that have not ended.
/// result_of(puzzle) is the result of one that has.
template <class Begin, class Prepare, class Step, class ResultOf>
void SolveInGroups(const ProblemBatch& problems, const StopSignal& stop, const Search::Done& done,
                   const Begin& begin, const Prepare& prepare, const Step& step,
                   const ResultOf& result_of) {
  constexpr std::size_t kProblemsAtOnce = 4096;
  for (std::size_t first = 0; first < problems.size(); first += kProblemsAtOnce) {
    Stopwatch timer;
    auto puzzles = begin(problems.Slice(first, std::min(kProblemsAtOnce, problems.size() - first)));
    while (!puzzles.empty()) {
      if (stop.Reached()) throw Stopped();
      const double share = timer.Lap() / static_cast<double>(puzzles.size());
      for (auto& puzzle : puzzles) {
        puzzle.result.seconds += share;
        if (!puzzle.stop_reason) prepare(puzzle);
        if (puzzle.stop_reason) done(first + puzzle.number, result_of(puzzle));
      }
      std::erase_if(puzzles, [](const auto& puzzle) { return puzzle.stop_reason.has_value(); });
      if (!puzzles.empty()) step(puzzles);
    }
  }
}

}  // namespace tandem
