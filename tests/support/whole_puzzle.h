// Small puzzles whose every state is solved, and compared with breadth-first search.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <span>
#include <vector>

#include "base/random.h"
#include "search/hash_set.h"
#include "search/search.h"
#include "support/small_puzzles.h"

namespace tandem {

/// All solvable states of a puzzle, with their exact distances and admissible estimates.
struct Whole {
  explicit Whole(const Domain& domain)
      : domain(domain), distances(Distances(domain)), size(domain.spec().state_size) {
    for (const auto& [state, distance] : distances) {
      starts.insert(starts.end(), state.begin(), state.end());
    }
  }

  ConstRows rows() const { return {starts.data(), distances.size(), size}; }

  float Exact(std::span<const std::uint8_t> state) const {
    return domain.spec().action_costs[0] *
           static_cast<float>(distances.at(State(state.begin(), state.end())));
  }

  /// Admissible but inconsistent: a random value between 0 and the exact one, so that a step may
  /// lower it by more than the action's cost.
  float Erratic(std::span<const std::uint8_t> state) const {
    const auto distance = static_cast<std::uint64_t>(distances.at({state.begin(), state.end()}));
    Random random(HashState(state), Purpose::kShuffle);
    return domain.spec().action_costs[0] * static_cast<float>(random.Below(distance + 1));
  }

  const Domain& domain;
  const StateMap distances;
  const std::size_t size;
  State starts;
};

/// Expects that every result is a solution with a cost of at most `factor` times the least.
inline void ExpectSolutions(const Whole& whole, const std::vector<SearchResult>& results,
                            float factor) {
  for (std::size_t i = 0; i < results.size(); ++i) {
    const std::span<const std::uint8_t> row = whole.rows()[i];
    const State start(row.begin(), row.end());
    const SearchResult& result = results[i];
    ASSERT_TRUE(result.solved);
    ASSERT_EQ(result.stop_reason, StopReason::kSolved);
    ASSERT_TRUE(Solves(whole.domain, start, result.actions));
    ASSERT_EQ(result.cost, CostOf(whole.domain.spec(), result.actions));
    ASSERT_LE(result.cost, factor * whole.Exact(start) * 1.00001F);
    ASSERT_FALSE(result.best.has_value());
  }
}

}  // namespace tandem
