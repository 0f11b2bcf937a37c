// The states whose cost-to-go is known without a network.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "search/goal_ball.h"
#include "tandem/domain.h"

namespace tandem {

/// KnownCosts gives the exact costs-to-go of goals and of the states in a ball around the goal, and
/// a lower bound on all others. All methods are thread-safe.
class KnownCosts {
 public:
  /// `domain` must outlive this. `ball` may be null; then only goals have a known cost.
  KnownCosts(const Domain& domain, std::shared_ptr<const GoalBall> ball);

  /// The ball, or null.
  const GoalBall* ball() const { return ball_.get(); }

  /// The exact cost-to-go of `state`, or infinity if it is not known. `is_goal` says whether the
  /// state is a goal; `hash` is HashState(state). Throws InputError if the state is a goal outside
  /// the ball.
  float CostOf(std::span<const std::uint8_t> state, std::uint64_t hash, bool is_goal) const;
  float CostOf(std::span<const std::uint8_t> state, bool is_goal) const;

  /// A lower bound on the cost-to-go of states of unknown cost.
  float least_unknown() const { return least_unknown_; }

  /// The cost-to-go of a state whose CostOf is `known`: that cost or, if it is infinite, the
  /// network's estimate, which counts as at least least_unknown().
  float CostToGo(float known, float estimate) const;

 private:
  const Domain& domain_;
  const std::shared_ptr<const GoalBall> ball_;
  const float least_unknown_;
};

}  // namespace tandem
