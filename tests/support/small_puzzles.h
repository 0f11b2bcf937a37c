// Puzzles small enough to search completely, and their distances and shortest solutions.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "domain/moves.h"
#include "tandem/permutation.h"

namespace tandem {

using State = std::vector<std::uint8_t>;

struct ByBytes {
  bool operator()(const State& a, const State& b) const {
    return std::ranges::lexicographical_compare(a, b);
  }
};
using StateMap = std::map<State, int, ByBytes>;

/// A puzzle of numbers in a row that must be put in order. A subclass defines the moves.
class RowPuzzle : public PermutationDomain {
 public:
  void ParseState(std::string_view text, std::span<std::uint8_t> state) const override {
    for (std::size_t i = 0; i < state.size(); ++i) state[i] = static_cast<std::uint8_t>(text[i]);
  }
  std::string FormatState(std::span<const std::uint8_t> state) const override {
    return {state.begin(), state.end()};
  }

 protected:
  RowPuzzle(std::string name, int numbers, float action_cost, const std::vector<Permutation>& moves)
      : RowPuzzle(std::move(name), numbers, std::vector<float>(moves.size(), action_cost), moves) {}

  RowPuzzle(std::string name, int numbers, std::vector<float> action_costs,
            const std::vector<Permutation>& moves)
      : PermutationDomain({.name = std::move(name),
                           .summary = "for tests",
                           .action_names = Names(moves.size()),
                           .action_costs = std::move(action_costs)},
                          InOrder(numbers), moves) {}

  template <class Row = State>
  static Row InOrder(int numbers) {
    Row row(static_cast<std::size_t>(numbers));
    std::iota(row.begin(), row.end(), typename Row::value_type{0});
    return row;
  }

 private:
  static std::vector<std::string> Names(std::size_t count) {
    std::vector<std::string> names;
    for (std::size_t i = 0; i < count; ++i) names.push_back(fmt::format("m{}", i));
    return names;
  }
};

/// Each move reverses the first 2, 3, ... numbers. With 6 numbers there are 720 states, at most 7
/// moves from the goal.
class PancakeDomain final : public RowPuzzle {
 public:
  explicit PancakeDomain(int numbers, float action_cost = 1)
      : RowPuzzle("pancake", numbers, action_cost, Flips(numbers)) {}

 private:
  static std::vector<Permutation> Flips(int numbers) {
    std::vector<Permutation> flips;
    for (int first = 2; first <= numbers; ++first) {
      flips.push_back(InOrder<Permutation>(numbers));
      std::reverse(flips.back().begin(), flips.back().begin() + first);
    }
    return flips;
  }
};

/// Each move rotates three neighbours, so only even permutations can be solved: with 6 numbers, 360
/// of 720.
class CycleDomain final : public RowPuzzle {
 public:
  explicit CycleDomain(int numbers) : RowPuzzle("cycles", numbers, 1, Cycles(numbers)) {}

 private:
  static std::vector<Permutation> Cycles(int numbers) {
    std::vector<Permutation> cycles;
    for (int at = 0; at + 2 < numbers; ++at) {
      auto cycle = InOrder<Permutation>(numbers);
      std::rotate(cycle.begin() + at, cycle.begin() + at + 1, cycle.begin() + at + 3);
      cycles.push_back(cycle);
      cycles.push_back(Inverse(cycle));
    }
    return cycles;
  }
};

/// Move i swaps the numbers at i and i + 1, and costs action_costs[i].
class SwapDomain final : public RowPuzzle {
 public:
  explicit SwapDomain(const std::vector<float>& action_costs)
      : RowPuzzle("swaps", static_cast<int>(action_costs.size()) + 1, action_costs,
                  Swaps(static_cast<int>(action_costs.size()))) {}

 private:
  static std::vector<Permutation> Swaps(int moves) {
    std::vector<Permutation> swaps;
    swaps.reserve(static_cast<std::size_t>(moves));
    for (int i = 0; i < moves; ++i) {
      swaps.push_back(InOrder<Permutation>(moves + 1));
      std::swap(swaps.back()[static_cast<std::size_t>(i)],
                swaps.back()[static_cast<std::size_t>(i) + 1]);
    }
    return swaps;
  }
};

/// The distance of each state from the goal, by breadth-first search. States without a solution are
/// not in the map. Requires that every action has an inverse.
inline StateMap Distances(const Domain& domain) {
  const State goal = GoalOf(domain);
  StateMap distances = {{goal, 0}};
  std::vector<State> frontier = {goal};
  for (int distance = 1; !frontier.empty(); ++distance) {
    std::vector<State> next;
    for (const State& state : frontier) {
      for (int a = 0; a < domain.spec().num_actions(); ++a) {
        const auto action = static_cast<Action>(a);
        State child = state;
        domain.Apply(Rows(std::span(child)), {&action, 1});
        if (distances.emplace(child, distance).second) next.push_back(child);
      }
    }
    frontier = std::move(next);
  }
  return distances;
}

/// A shortest solution of a state, by breadth-first search; empty if it has more than `most`
/// actions.
inline std::vector<Action> ShortestWay(const Domain& domain, const State& start, int most) {
  struct From {
    const State* parent;
    Action action;
  };
  std::map<State, From, ByBytes> known = {{start, {nullptr, 0}}};
  std::vector<const State*> frontier = {&known.begin()->first};
  for (int depth = 0; depth <= most; ++depth) {
    std::vector<const State*> next;
    for (const State* state : frontier) {
      std::uint8_t is_goal = 0;
      domain.IsGoal(ConstRows(std::span(*state)), {&is_goal, 1});
      if (is_goal != 0) {
        std::vector<Action> way;
        for (const From* from = &known.at(*state); from->parent != nullptr;
             from = &known.at(*from->parent)) {
          way.push_back(from->action);
        }
        std::ranges::reverse(way);
        return way;
      }
      for (int a = 0; a < domain.spec().num_actions(); ++a) {
        const auto action = static_cast<Action>(a);
        State child = *state;
        domain.Apply(Rows(std::span(child)), {&action, 1});
        const auto [at, is_new] = known.emplace(std::move(child), From{state, action});
        if (is_new) next.push_back(&at->first);
      }
    }
    frontier = std::move(next);
  }
  return {};
}

/// The state after these actions.
inline State After(const Domain& domain, State state, const std::vector<Action>& actions) {
  for (const Action action : actions) domain.Apply(Rows(std::span(state)), {&action, 1});
  return state;
}

/// Replaces a state by the one from which `actions` lead to it. Requires that every action is a
/// permutation.
inline void UndoAll(const Domain& domain, const std::vector<Action>& actions, State& state) {
  for (std::size_t i = actions.size(); i-- > 0;) {
    domain.Apply(Rows(std::span(state)), {&domain.spec().inverse_actions[actions[i]], 1});
  }
}

inline bool Solves(const Domain& domain, State state, const std::vector<Action>& actions) {
  state = After(domain, std::move(state), actions);
  std::uint8_t is_goal = 0;
  domain.IsGoal(Rows(std::span(state)), {&is_goal, 1});
  return is_goal != 0;
}

}  // namespace tandem
