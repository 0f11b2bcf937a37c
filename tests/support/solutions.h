// Solves published states with solvers that implement the moves independently. If their solutions
// also solve the states in Tandem, both agree on states and moves.
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

/// Checks that a solution solves the state and is not shorter than an optimal one. Returns its
/// length.
inline int CheckSolution(const Domain& domain, const PublishedState& state,
                         const std::string& moves) {
  State start(static_cast<std::size_t>(domain.spec().state_size));
  domain.ParseState(state.text, start);
  const std::vector<Action> actions = ParseActions(domain.spec(), moves);
  EXPECT_TRUE(Solves(domain, start, actions)) << state.text << "\nby " << moves;
  EXPECT_TRUE(!state.optimal || std::ssize(actions) >= state.length) << state.text;
  return static_cast<int>(std::ssize(actions));
}

/// Each slide and each quarter turn changes the parity, so all solutions of a state have lengths of
/// the same parity.
inline void CheckParity(const PublishedState& state, int length) {
  EXPECT_EQ(length % 2, state.length % 2) << state.text;
}

inline void CheckTiles(const std::vector<PublishedState>& states, int size, int weight) {
  ASSERT_FALSE(states.empty());
  const auto domain = MakeDomain("npuzzle:" + std::to_string(size));
  const TileSolver solver(size, weight);
  for (const PublishedState& state : states) {
    CheckParity(state, CheckSolution(*domain, state, solver.Solve(state.text)));
  }
}

/// Solves cubes. Also checks the known sizes of the solver's groups.
inline void CheckCubes(const std::vector<PublishedState>& states) {
  ASSERT_FALSE(states.empty());
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

/// Solves Sokoban levels. The solver's solutions are optimal, so no published one may be shorter.
inline void CheckSokoban(const std::vector<PublishedState>& states) {
  ASSERT_FALSE(states.empty());
  constexpr std::size_t kMaxPositions = 50'000'000;
  const auto domain = MakeDomain("sokoban:10");
  for (const PublishedState& state : states) {
    const std::string moves = SokobanSolver(state.text).Solve(kMaxPositions);
    EXPECT_LE(CheckSolution(*domain, state, moves), state.length) << state.text;
  }
}

}  // namespace tandem
