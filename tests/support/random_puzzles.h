// Random puzzles that are small enough to be solved exactly.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "support/small_puzzles.h"
#include "tandem/domain.h"

namespace tandem {

/// Dice draws small numbers, all from one seed.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : random_(seed, Purpose::kScramble) {}

  /// Uniform in [first, last].
  std::size_t Number(std::size_t first, std::size_t last) {
    return first + random_.Below(last - first + 1);
  }
  bool Chance(double probability) { return random_.Share() < probability; }
  float Share() { return static_cast<float>(random_.Share()); }
  template <class T>
  T OneOf(const std::vector<T>& values) {
    return values[Number(0, values.size() - 1)];
  }

 private:
  Random random_;
};

/// The costs of actions: all equal, integers, or decimals that no float holds exactly.
inline std::vector<float> DrawCosts(Dice& dice, std::size_t count) {
  const auto choices =
      dice.OneOf<std::vector<float>>({{1}, {0.1F}, {1, 2, 3, 10}, {0.1F, 0.3F, 0.7F, 2.5F}});
  std::vector<float> costs(count);
  for (float& cost : costs) cost = dice.OneOf(choices);
  return costs;
}

/// A puzzle whose states are the numbers below `states`. If it is reversible, it has one goal, and
/// every action has an inverse, which may cost more. Otherwise it may have several goals and states
/// from which no action leads away. Some actions do not apply in some states.
class RandomGraph final : public Domain {
 public:
  RandomGraph(Dice& dice, bool reversible)
      : RandomGraph(dice, reversible, dice.Number(2, 12), dice.Number(1, 3)) {}

  bool reversible() const { return !spec().inverse_actions.empty(); }
  std::size_t states() const { return next_.size(); }

  void WriteGoals(Rows states) const override {
    for (std::uint8_t& state : states.bytes()) state = goals_.front();
  }
  void Apply(Rows states, std::span<const Action> actions) const override {
    for (std::size_t i = 0; i < states.size(); ++i) {
      states[i][0] = next_[states[i][0]][actions[i]];
    }
  }
  void Mask(ConstRows states, std::span<std::uint8_t> applies) const override {
    const auto actions = static_cast<std::size_t>(spec().num_actions());
    for (std::size_t i = 0; i < applies.size(); ++i) {
      const std::uint8_t state = states[i / actions][0];
      applies[i] = next_[state][i % actions] != state ? 1 : 0;
    }
  }
  void IsGoal(ConstRows states, std::span<std::uint8_t> is_goal) const override {
    for (std::size_t i = 0; i < states.size(); ++i) {
      is_goal[i] = std::ranges::count(goals_, states[i][0]) > 0 ? 1 : 0;
    }
  }
  void ParseState(std::string_view text, std::span<std::uint8_t> state) const override {
    state[0] = static_cast<std::uint8_t>(std::stoi(std::string(text)));
  }
  std::string FormatState(std::span<const std::uint8_t> state) const override {
    return std::to_string(state[0]);
  }

 private:
  using Numbers = std::vector<std::uint8_t>;

  RandomGraph(Dice& dice, bool reversible, std::size_t states, std::size_t actions)
      : Domain(SpecOf(dice, reversible, states, reversible ? 2 * actions : actions)),
        goals_({static_cast<std::uint8_t>(dice.Number(0, states - 1))}) {
    Numbers all(states);
    std::iota(all.begin(), all.end(), std::uint8_t{0});
    if (!reversible && dice.Chance(0.5)) goals_.push_back(dice.OneOf(all));
    const auto num_actions = static_cast<std::size_t>(spec().num_actions());
    for (const std::uint8_t state : all) next_.push_back(Numbers(num_actions, state));
    for (std::size_t a = 0; a < num_actions; a += reversible ? 2 : 1) {
      Numbers to = all;
      ShuffleAll(dice, to);
      for (const std::uint8_t state : all) {
        if (dice.Chance(0.3)) continue;
        next_[state][a] = reversible ? to[state] : dice.OneOf(all);
        if (reversible) next_[to[state]][a + 1] = state;
      }
    }
  }

  static void ShuffleAll(Dice& dice, Numbers& numbers) {
    for (std::size_t i = numbers.size(); i > 1; --i) {
      std::swap(numbers[i - 1], numbers[dice.Number(0, i - 1)]);
    }
  }

  static DomainSpec SpecOf(Dice& dice, bool reversible, std::size_t states, std::size_t actions) {
    DomainSpec spec{.name = "graph",
                    .summary = "for tests",
                    .state_size = 1,
                    .input = {.positions = 1, .depth = static_cast<int>(states)},
                    .action_costs = DrawCosts(dice, actions),
                    .masks_actions = true};
    for (std::size_t a = 0; a < actions; ++a) {
      spec.action_names.push_back("m" + std::to_string(a));
      if (reversible) spec.inverse_actions.push_back(static_cast<Action>(a ^ 1U));
    }
    return spec;
  }

  Numbers goals_;
  std::vector<Numbers> next_;  // by state and action; the state itself if the action does not apply
};

/// Some numbers in a row, and moves that permute them in random ways. A move and its inverse cost
/// the same.
class RandomPermutations final : public RowPuzzle {
 public:
  explicit RandomPermutations(Dice& dice) : RandomPermutations(dice, DrawMoves(dice)) {}

 private:
  RandomPermutations(Dice& dice, const std::vector<Permutation>& moves)
      : RowPuzzle("permutations", static_cast<int>(moves[0].size()), Pairwise(dice, moves.size()),
                  moves) {}

  static std::vector<float> Pairwise(Dice& dice, std::size_t moves) {
    std::vector<float> costs = DrawCosts(dice, moves);
    for (std::size_t i = 1; i < moves; i += 2) costs[i] = costs[i - 1];
    return costs;
  }

  // Each move is followed by its inverse. None is its own inverse or that of another move, because
  // one action then has two inverses, and these may differ in cost.
  static std::vector<Permutation> DrawMoves(Dice& dice) {
    const auto numbers = static_cast<int>(dice.Number(4, 5));
    std::vector<Permutation> moves;
    while (moves.size() < 4) {
      auto move = InOrder<Permutation>(numbers);
      for (std::size_t i = move.size(); i > 1; --i) {
        std::swap(move[i - 1], move[dice.Number(0, i - 1)]);
      }
      if (std::ranges::count(moves, move) > 0 || move == Inverse(move)) continue;
      moves.push_back(move);
      moves.push_back(Inverse(move));
    }
    return moves;
  }
};

/// The least costs of all solutions of a puzzle, found without any search of the library.
class ExactSolutions {
 public:
  /// Takes the states that can be reached from `starts`.
  ExactSolutions(const Domain& domain, const std::vector<State>& starts) {
    for (const State& start : starts) Number(start);
    const auto actions = static_cast<std::size_t>(domain.spec().num_actions());
    std::vector<std::vector<std::size_t>> next;
    for (std::size_t i = 0; i < states_.size(); ++i) {
      next.emplace_back();
      for (std::size_t a = 0; a < actions; ++a) {
        next[i].push_back(Number(After(domain, states_[i], {static_cast<Action>(a)})));
      }
    }
    std::vector<double> costs(states_.size(), std::numeric_limits<double>::infinity());
    for (std::size_t i = 0; i < states_.size(); ++i) {
      if (IsGoal(domain, states_[i])) costs[i] = 0;
    }
    // The cheapest solutions of all states have fewer moves than there are states.
    for (std::size_t moves = 0; moves <= states_.size(); ++moves) {
      costs_.push_back(costs);
      for (std::size_t i = 0; i < states_.size(); ++i) {
        for (std::size_t a = 0; a < actions; ++a) {
          costs[i] = std::min(costs[i], domain.spec().action_costs[a] + costs_.back()[next[i][a]]);
        }
      }
    }
  }

  const std::vector<State>& states() const { return states_; }

  /// The cost of the cheapest solution of `state` that has at most `moves` moves; infinite if there
  /// is none.
  double Cost(std::span<const std::uint8_t> state,
              std::size_t moves = std::numeric_limits<std::size_t>::max()) const {
    return costs_[std::min(moves, costs_.size() - 1)]
                 [numbers_.at(State(state.begin(), state.end()))];
  }

 private:
  std::size_t Number(const State& state) {
    const auto [at, is_new] = numbers_.emplace(state, states_.size());
    if (is_new) states_.push_back(state);
    return at->second;
  }

  std::vector<State> states_;
  std::map<State, std::size_t, ByBytes> numbers_;
  std::vector<std::vector<double>> costs_;  // by number of moves and state
};

}  // namespace tandem
