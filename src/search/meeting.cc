#include "search/meeting.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "search/hash_set.h"

namespace tandem {

void Meeting::Clear(std::int64_t most_actions) {
  most_actions_ = most_actions;
  for (Ends& ends : ends_) ends.clear();
  cheapest_.reset();
}

void Meeting::Add(Side side, std::uint64_t hash, End end) {
  const bool from_start = side == Side::kStart;
  const auto [known, is_new] = ChangeTable(ends_[from_start ? 0 : 1],
                                           [&](Ends& ends) { return ends.try_emplace(hash, end); });
  if (!is_new) {
    if (end.cost >= known->second.cost) return;
    known->second = end;
  }
  const Ends& others = ends_[from_start ? 1 : 0];
  const auto other = others.find(hash);
  if (other == others.end()) return;
  const End& start_end = from_start ? end : other->second;
  const End& goal_end = from_start ? other->second : end;
  Offer({.from_start = start_end, .from_goal = goal_end, .hash = hash});
}

void Meeting::Offer(const Pair& pair) {
  const std::int64_t actions = std::int64_t{pair.from_start.depth} + pair.from_goal.depth;
  if (actions > most_actions_) return;
  if (!cheapest_ || pair.cost() < cheapest_->cost()) cheapest_ = pair;
}

// Looks for the other pairs again. Collisions are too rare to keep a list of pairs.
void Meeting::DropCheapest() {
  const std::uint64_t dropped = cheapest_->hash;
  for (Ends& ends : ends_) ends.erase(dropped);
  cheapest_.reset();
  std::vector<Pair> pairs;
  for (const auto& [hash, end] : ends_[0]) {
    const auto other = ends_[1].find(hash);
    if (other == ends_[1].end()) continue;
    pairs.push_back({.from_start = end, .from_goal = other->second, .hash = hash});
  }
  // The order of the table differs from run to run.
  std::ranges::sort(pairs, {}, [](const Pair& pair) {
    return std::pair(pair.from_start.depth, pair.from_start.index);
  });
  for (const Pair& pair : pairs) Offer(pair);
}

std::size_t Meeting::BytesWith(std::size_t more) const {
  return BytesOfTable(ends_[0], ends_[0].size() + more) +
         BytesOfTable(ends_[1], ends_[1].size() + more);
}

}  // namespace tandem
