// The tests' own solvers on published states. They know the moves by their own account, so that a
// solution of theirs that solves a state here too tells that both mean the same by it.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "support/cube_solver.h"
#include "support/published_states.h"
#include "support/small_puzzles.h"
#include "support/sokoban_solver.h"
#include "support/tile_solver.h"
#include "tandem/registry.h"

namespace tandem {

/// How many moves there are in a solution, which must solve the state and be no shorter than a
/// shortest one.
inline int CheckSolution(const Domain& domain, const PublishedState& state,
                         const std::string& moves) {
  State start(static_cast<std::size_t>(domain.spec().state_size));
  domain.ParseState(state.text, start);
  const std::vector<Action> actions = ParseActions(domain.spec(), moves);
  EXPECT_TRUE(Solves(domain, start, actions)) << state.text << "\nby " << moves;
  EXPECT_TRUE(!state.optimal || std::ssize(actions) >= state.length) << state.text;
  return static_cast<int>(std::ssize(actions));
}

/// Each slide is odd, and so is each quarter turn: all solutions of a state are odd or all are
/// even.
inline void CheckParity(const PublishedState& state, int length) {
  EXPECT_EQ(length % 2, state.length % 2) << state.text;
}

inline void CheckTiles(const std::vector<PublishedState>& states, int size, int weight) {
  const auto domain = MakeDomain("npuzzle:" + std::to_string(size));
  const TileSolver solver(size, weight);
  for (const PublishedState& state : states) {
    CheckParity(state, CheckSolution(*domain, state, solver.Solve(state.text)));
  }
}

/// Also that the solver's groups are as large as is known.
inline void CheckCubes(const std::vector<PublishedState>& states) {
  const auto domain = MakeDomain("cube3");
  const CubeSolver solver;
  EXPECT_EQ(solver.phases()[0].NumCosets(), 2'048U);
  EXPECT_EQ(solver.phases()[1].NumCosets(), 1'082'565U);
  EXPECT_EQ(solver.phases()[2].NumCosets(), 29'400U);
  EXPECT_EQ(solver.phases()[3].NumCosets(), 663'552U);
  for (const PublishedState& state : states) {
    CheckParity(state, CheckSolution(*domain, state, solver.Solve(state.text)));
  }
}

/// These solutions are shortest, so that none of those published is shorter.
inline void CheckSokoban(const std::vector<PublishedState>& states) {
  constexpr std::size_t kMaxPositions = 50'000'000;
  const auto domain = MakeDomain("sokoban:10");
  for (const PublishedState& state : states) {
    const std::string moves = SokobanSolver(state.text).Solve(kMaxPositions);
    EXPECT_LE(CheckSolution(*domain, state, moves), state.length) << state.text;
  }
}

}  // namespace tandem
