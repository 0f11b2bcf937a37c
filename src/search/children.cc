#include "search/children.h"

#include <xxhash.h>

#include <cstring>

namespace tandem {

std::uint64_t HashState(std::span<const std::uint8_t> state) {
  return XXH3_64bits(state.data(), state.size());
}

std::int64_t Children::BytesFor(const DomainSpec& spec, std::int64_t states) {
  constexpr std::int64_t kIsGoalAndUnchanged = 2;
  return states * static_cast<std::int64_t>(spec.num_actions()) *
         (spec.state_size + kIsGoalAndUnchanged + static_cast<std::int64_t>(sizeof(std::uint64_t)));
}

void Children::Resize(std::size_t states) {
  const std::size_t num_children = states * domain_.spec().num_actions();
  rows_.resize(num_children * domain_.spec().state_size);
  is_goal_.resize(num_children);
  unchanged_.resize(num_children);
  hashes_.resize(num_children);
}

void Children::Expand(ConstRows states, std::size_t first) {
  const std::size_t num_actions = domain_.spec().num_actions();
  const std::size_t state_size = states.row_size();
  const Rows children(rows_.data() + first * num_actions * state_size, states.size() * num_actions,
                      state_size);
  domain_.Expand(states, children);
  domain_.IsGoal(children, std::span(is_goal_).subspan(first * num_actions, children.size()));
  for (std::size_t i = 0; i < children.size(); ++i) {
    const std::uint8_t* parent = states[i / num_actions].data();
    const bool same = std::memcmp(children[i].data(), parent, state_size) == 0;
    unchanged_[first * num_actions + i] = same ? 1 : 0;
    if (!same) hashes_[first * num_actions + i] = HashState(children[i]);
  }
}

ConstRows Children::rows() const {
  return {rows_.data(), is_goal_.size(), static_cast<std::size_t>(domain_.spec().state_size)};
}

}  // namespace tandem
