// Searches of many puzzles in lock step.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "base/stop_signal.h"
#include "base/stopwatch.h"
#include "search/search.h"

namespace tandem {

/// Solves groups of a few thousand problems, one after another, so that memory does not grow with
/// their number. The puzzles of a group advance in lock step, and the time of a step is divided
/// evenly among them.
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
    LapTimer timer;
    auto puzzles = begin(problems.Slice(first, std::min(kProblemsAtOnce, problems.size() - first)));
    while (!puzzles.empty()) {
      if (stop.Reached()) throw Stopped();
      const double share = timer.Next() / static_cast<double>(puzzles.size());
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
