// Balls around the goals of small puzzles.
#pragma once

#include <cstddef>
#include <memory>

#include "search/goal_ball.h"

namespace tandem {

/// The ball of the states whose cost-to-go is at most `radius`. Its memory has no limit.
inline std::shared_ptr<const GoalBall> BallOf(const Domain& domain, float radius) {
  return std::make_shared<const GoalBall>(domain, radius, std::size_t{1} << 40);
}

}  // namespace tandem
