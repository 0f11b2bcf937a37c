// The loop of searches that expand one depth after another.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "base/stop_signal.h"
#include "search/search.h"
#include "tandem/error.h"

namespace tandem {

/// Calls go_deeper(within, solution) until it sets `solution` or returns the limit that it met.
/// It should throw Stopped once `within` is reached: after `max_seconds`, if that is above 0, which
/// ends the loop at the time limit, or together with `stop`, which ends it with Stopped. Nothing is
/// called if there is a solution or a limit already. Sets `solved`, `actions` and, at a limit,
/// `stop_reason` of the result.
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

}  // namespace tandem
