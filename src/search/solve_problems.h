// Solves the problems of a file, and checks the solutions.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/stop_signal.h"
#include "search/search.h"
#include "search/states_file.h"
#include "tandem/domain.h"

namespace tandem {

/// Searches for a solution of each problem that has a valid state, and replays every solution.
/// Calls `done` with the index of the problem in `problems`. Throws Stopped once `stop` is reached,
/// and the same errors as Search::SolveAll and CheckByReplay.
void SolveProblems(const std::vector<Problem>& problems, const Domain& domain, Search& search,
                   const StopSignal& stop, const Search::Done& done);

/// Search::SolveAll that replays every solution. Throws the same errors as CheckByReplay, too.
void SolveAndReplay(const Domain& domain, Search& search, const ProblemBatch& problems,
                    const StopSignal& stop, const Search::Done& done);

/// Throws Error if the moves do not lead to a goal, which means a bug in the search or the domain.
void CheckByReplay(const Domain& domain, std::span<const std::uint8_t> start,
                   const std::vector<Action>& actions);

}  // namespace tandem
