// Counts the states of a puzzle by their distance from the goal.
#pragma once

#include <absl/container/flat_hash_set.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "tandem/domain.h"

namespace tandem {

/// The number of states at distance 0, 1, 2, ..., `max_depth` from the goal. `key_of` maps each
/// state to a unique number.
template <class KeyOf>
std::vector<std::size_t> CountLevels(const Domain& domain, int max_depth, KeyOf key_of) {
  const std::size_t state_size = domain.spec().state_size;
  const std::size_t num_actions = domain.spec().num_actions();
  constexpr std::size_t kAtOnce = 1024;
  std::vector<std::uint8_t> level(state_size), children;
  domain.WriteGoals(Rows(std::span(level)));
  absl::flat_hash_set<std::uint64_t> seen = {key_of(std::span<const std::uint8_t>(level))};
  std::vector<std::size_t> counts = {1};
  while (static_cast<int>(counts.size()) <= max_depth) {
    std::vector<std::uint8_t> next;
    const ConstRows states(level.data(), level.size() / state_size, state_size);
    for (std::size_t first = 0; first < states.size(); first += kAtOnce) {
      const ConstRows some = states.Slice(first, std::min(kAtOnce, states.size() - first));
      children.resize(some.size() * num_actions * state_size);
      const Rows rows(children.data(), some.size() * num_actions, state_size);
      domain.Expand(some, rows);
      for (std::size_t i = 0; i < rows.size(); ++i) {
        if (!seen.insert(key_of(std::span<const std::uint8_t>(rows[i]))).second) continue;
        next.insert(next.end(), rows[i].begin(), rows[i].end());
      }
    }
    if (next.empty()) break;
    counts.push_back(next.size() / state_size);
    level = std::move(next);
  }
  return counts;
}

/// The digits of a state in base `base`, for states whose key fits 64 bits.
inline std::uint64_t KeyInBase(std::span<const std::uint8_t> state, std::uint64_t base) {
  std::uint64_t key = 0;
  for (const std::uint8_t digit : state) key = key * base + digit;
  return key;
}

}  // namespace tandem
