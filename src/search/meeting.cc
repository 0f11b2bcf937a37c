#include "search/meeting.h"

#include "search/hash_set.h"

namespace tandem {

void Meeting::Clear() {
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
  const Pair pair = from_start ? Pair{.from_start = end, .from_goal = other->second}
                               : Pair{.from_start = other->second, .from_goal = end};
  if (!cheapest_ || pair.cost() < cheapest_->cost()) cheapest_ = pair;
}

std::size_t Meeting::bytes() const {
  return (ends_[0].capacity() + ends_[1].capacity()) * (sizeof(Ends::value_type) + 1);
}

}  // namespace tandem
