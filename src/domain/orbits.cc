// Finds the positions that moves exchange, and those that always move together.
#include <cstddef>
#include <cstdint>

#include "tandem/permutation.h"

namespace tandem {
namespace {

// By move, the position that the contents of each position go to.
using Targets = std::vector<Permutation>;

// A follower moves, but stays whenever its leader stays.
bool MayFollow(std::size_t follower, std::size_t leader, const Targets& targets) {
  bool ever_moves = false;
  for (const Permutation& target : targets) {
    const bool moves = target[follower] != follower;
    if (moves && target[leader] == leader) return false;
    ever_moves = ever_moves || moves;
  }
  return ever_moves;
}

// Returns for each position that moves bring the contents of `leader` to, in the order in which
// they are reached, where the contents of `follower` are then. Empty if that depends on the moves.
Place Follow(std::uint16_t leader, std::uint16_t follower, const Targets& targets) {
  constexpr std::uint32_t kUnknown = UINT32_MAX;
  std::vector<std::uint32_t> at(targets.front().size(), kUnknown);  // of the follower, by leader
  std::vector<std::uint16_t> reached = {leader};
  at[leader] = follower;
  for (std::size_t i = 0; i < reached.size(); ++i) {
    for (const Permutation& target : targets) {
      const std::uint16_t to = target[reached[i]];
      const std::uint16_t with = target[at[reached[i]]];
      if (at[to] == kUnknown) reached.push_back(to);
      if (at[to] != kUnknown && at[to] != with) return {};
      at[to] = with;
    }
  }
  Place followers;
  for (const std::uint16_t each : reached) {
    followers.push_back(static_cast<std::uint16_t>(at[each]));
  }
  return followers;
}

}  // namespace

std::vector<std::vector<Place>> FindOrbits(const std::vector<Permutation>& permutations) {
  Targets targets;
  for (const Permutation& permutation : permutations) targets.push_back(Inverse(permutation));
  const std::size_t size = targets.front().size();
  std::vector<std::vector<Place>> orbits;
  std::vector<bool> seen(size);
  for (std::size_t i = 0; i < size; ++i) {
    if (seen[i]) continue;
    std::vector<Place>& places = orbits.emplace_back();
    const auto start = static_cast<std::uint16_t>(i);
    if (std::ranges::all_of(targets, [&](const auto& target) { return target[i] == start; })) {
      places.push_back({start});  // no move changes it, and it leads none
      continue;
    }
    for (const std::uint16_t position : Follow(start, start, targets)) {
      places.push_back({position});
      seen[position] = true;
    }
    for (std::size_t q = 0; q < size; ++q) {
      if (q == i || !MayFollow(q, i, targets)) continue;
      const Place followers = Follow(start, static_cast<std::uint16_t>(q), targets);
      for (std::size_t p = 0; p < followers.size(); ++p) places[p].push_back(followers[p]);
    }
  }
  return orbits;
}

}  // namespace tandem
