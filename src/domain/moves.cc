#include "domain/moves.h"

#include <fmt/format.h>

#include "base/random.h"
#include "domain/random_walks.h"
#include "tandem/error.h"
#include "tandem/permutation.h"

namespace tandem {

std::vector<Action> MakeMoves(const Domain& domain, std::string_view moves, std::string_view start,
                              std::span<std::uint8_t> state) {
  std::vector<Action> actions = domain.ParseMoves(moves, start);
  std::vector<std::uint8_t> applies(static_cast<std::size_t>(domain.spec().num_actions()));
  for (std::size_t i = 0; i < actions.size(); ++i) {
    const std::span action(&actions[i], 1);
    domain.Mask(ConstRows(std::span<const std::uint8_t>(state)), applies);
    if (applies[actions[i]] == 0) {
      const std::string here = domain.FormatState(state);
      const bool multiline = domain.spec().multiline_states;  // a level of Sokoban
      throw InputError(fmt::format("move {}, {}, does not apply{}", i + 1,
                                   start.empty()
                                       ? FormatActions(domain.spec(), action)
                                       : domain.FormatMoves(action, multiline ? here : start),
                                   multiline ? "" : fmt::format(" in the state {}", here)));
    }
    domain.Apply(Rows(state), action);
  }
  return actions;
}

namespace {

constexpr std::uint64_t kSeed = 0;
constexpr std::size_t kSampledStates = 16;
constexpr std::int64_t kLongestWalk = 100;

// The states on which pairs are compared.
std::vector<std::uint8_t> States(const Domain& domain) {
  const auto state_size = static_cast<std::size_t>(domain.spec().state_size);
  if (dynamic_cast<const PermutationDomain*>(&domain) != nullptr) {
    std::vector<std::uint8_t> numbers;  // of the positions: a state of low bytes, one of high bytes
    for (std::size_t i = 0; i < 2 * state_size; ++i) {
      numbers.push_back(static_cast<std::uint8_t>(i < state_size ? i : (i - state_size) >> 8));
    }
    return numbers;
  }
  std::vector<std::uint8_t> states(kSampledStates * state_size);
  const Rows rows(states.data(), kSampledStates, state_size);
  std::vector<Random> randoms;
  std::vector<std::int64_t> lengths;
  for (std::size_t i = 0; i < kSampledStates; ++i) {
    Random& random = randoms.emplace_back(kSeed, Purpose::kScramble, 0, i);
    lengths.push_back(DrawScrambleLength(random, kLongestWalk));
  }
  std::vector<float> unused(kSampledStates);
  WalkFromGoals(domain, randoms, lengths, rows, unused);
  return states;
}

}  // namespace

bool CommuteAndUndoThemselves(const Domain& domain) {
  const DomainSpec& spec = domain.spec();
  if (spec.masks_actions || spec.inverse_actions.empty()) return false;
  for (std::size_t a = 0; a < spec.inverse_actions.size(); ++a) {
    if (spec.inverse_actions[a] != a) return false;
  }
  const std::vector<std::uint8_t> states = States(domain);
  const auto state_size = static_cast<std::size_t>(spec.state_size);
  const auto after = [&](Action first, Action second) {
    std::vector<std::uint8_t> copy = states;
    const Rows rows(copy.data(), copy.size() / state_size, state_size);
    domain.Apply(rows, std::vector<Action>(rows.size(), first));
    domain.Apply(rows, std::vector<Action>(rows.size(), second));
    return copy;
  };
  for (int i = 0; i < spec.num_actions(); ++i) {
    const auto a = static_cast<Action>(i);
    for (Action b = 0; b < a; ++b) {
      if (after(a, b) != after(b, a)) return false;
    }
  }
  return true;
}

}  // namespace tandem
