// A puzzle with two goals that names only one of them.
#pragma once

#include "support/path_domain.h"

namespace tandem {

/// A path both of whose ends are goals. WriteGoals and AllGoals give only the left one.
class TwoGoalsDomain final : public PathDomain {
 public:
  explicit TwoGoalsDomain(int cells, bool per_problem_goals = false)
      : PathDomain(cells, "two_goals", per_problem_goals) {}

  void IsGoal(ConstRows states, std::span<std::uint8_t> is_goal) const override {
    PathDomain::IsGoal(states, is_goal);
    for (std::size_t i = 0; i < states.size(); ++i) {
      if (states[i][0] == spec().input.depth - 1) is_goal[i] = 1;
    }
  }
};

}  // namespace tandem
