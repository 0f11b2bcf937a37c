#include "tandem/game.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <utility>

namespace tandem {
namespace {

template <class Number>
bool IsPermutation(const std::vector<Number>& numbers, int size) {
  if (!std::cmp_equal(numbers.size(), size)) return false;
  std::vector<Number> identity(numbers.size());
  std::iota(identity.begin(), identity.end(), Number{0});
  return std::ranges::is_permutation(numbers, identity);
}

}  // namespace

GameDomain::GameDomain(DomainSpec spec, std::vector<Symmetry> symmetries)
    : Domain(std::move(spec)), symmetries_(std::move(symmetries)) {
  const auto fail = [&](std::string_view what) {
    throw Error(fmt::format("game '{}': {}", this->spec().name, what));
  };
  if (!this->spec().inverse_actions.empty()) fail("it has inverse_actions, expected none");
  if (!this->spec().masks_actions) fail("masks_actions is false, expected true");
  for (std::size_t s = 0; s < symmetries_.size(); ++s) {
    if (IsPermutation(symmetries_[s].positions, this->spec().input.positions) &&
        IsPermutation(symmetries_[s].actions, this->spec().num_actions())) {
      continue;
    }
    fail(fmt::format("symmetry {} is not a permutation of the input's positions and of the actions",
                     s + 1));
  }
}

void GameDomain::IsGoal(ConstRows states, std::span<std::uint8_t> is_goal) const {
  std::vector<Outcome> outcomes(states.size());
  Outcomes(states, outcomes);
  for (std::size_t i = 0; i < states.size(); ++i) {
    is_goal[i] = outcomes[i] == Outcome::kOpen ? 0 : 1;
  }
}

void GameDomain::StepBack(Rows states, std::span<const std::uint64_t> randoms,
                          std::span<std::optional<Action>> actions) const {
  const auto num_actions = static_cast<std::size_t>(spec().num_actions());
  std::vector<std::uint8_t> applies(states.size() * num_actions);
  Mask(states, applies);
  std::vector<Action> moves(states.size());
  for (std::size_t i = 0; i < states.size(); ++i) {
    const auto legal = std::span(applies).subspan(i * num_actions, num_actions);
    const auto choices = static_cast<std::uint64_t>(std::ranges::count(legal, std::uint8_t{1}));
    actions[i].reset();
    if (choices == 0) continue;  // action 0 then leaves the state as it is
    std::uint64_t remaining = randoms[i] % choices;
    std::size_t action = 0;
    while (legal[action] == 0 || remaining-- > 0) ++action;
    moves[i] = static_cast<Action>(action);
    actions[i] = moves[i];
  }
  Apply(states, moves);
}

}  // namespace tandem
