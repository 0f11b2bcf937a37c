// Searches as Python sees them.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/stop_signal.h"
#include "search/search.h"
#include "tandem/domain.h"
#include "tandem/rows.h"

namespace tandem::python {

/// Solution is the outcome of the search for one state.
struct Solution {
  SearchResult search;
  std::string moves;
  std::string failure;  ///< why there is no solution; empty if there is one
};

/// Searches for a solution of each state by `solve_all`, which calls its Done for each, and
/// explains unsolved ones by `failure`. Ctrl-C stops the search and raises KeyboardInterrupt.
/// Throws InputError if some row is not a state. Call with the GIL; both functions run without it.
std::vector<Solution> SolveInterruptibly(
    const Domain& domain, ConstRows states,
    const std::function<void(const StopSignal&, const Search::Done&)>& solve_all,
    const std::function<std::string(const SearchResult&)>& failure);

}  // namespace tandem::python
