// Searches that take their starts in groups, so that memory does not grow with the number of
// starts.
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>

#include "search/search.h"

namespace tandem {

/// Calls solve(group, done_of_group) for groups of a few thousand starts, one after another.
/// `done_of_group` passes on to `done`, with the numbers that the puzzles have in `starts`.
template <class Solve>
void SolveInGroups(const Starts& starts, const Search::Done& done, const Solve& solve) {
  constexpr std::size_t kStartsAtOnce = 4096;
  for (std::size_t first = 0; first < starts.size(); first += kStartsAtOnce) {
    solve(
        starts.Slice(first, std::min(kStartsAtOnce, starts.size() - first)),
        [&](std::size_t number, SearchResult result) { done(first + number, std::move(result)); });
  }
}

}  // namespace tandem
