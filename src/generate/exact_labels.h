// Exact labels for rows near the goal, and anchors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "config/config.h"
#include "data/data_buffer.h"
#include "search/goal_ball.h"
#include "tandem/domain.h"

namespace tandem {

/// ExactLabels knows the exact labels of the states in the ball around the goal, and chooses the
/// rows that become anchors: states drawn uniformly from the ball. Without anchors, a network that
/// learns from its own estimates can settle on values that are all too high by the same amount.
/// All methods are thread-safe.
class ExactLabels {
 public:
  /// Follows config.generate.anchor_share, config.network.head and config.seed. `domain` must
  /// outlive this.
  ExactLabels(const Domain& domain, const Config& config, std::shared_ptr<const GoalBall> ball);

  const std::shared_ptr<const GoalBall>& ball() const { return ball_; }

  /// If `state` is in the ball, writes its label to row `row` of `examples` (ExampleSchema), gives
  /// all outputs the weight 1 if rows have weights, and returns true. Otherwise changes nothing and
  /// returns false.
  ///
  /// A Q net learns the cost of each action, and head q_in that of the action in the row's input,
  /// which must be written before. A child outside the ball counts as one move further from the
  /// goal than its parent. If all actions cost the same, that is exact; otherwise it is an upper
  /// bound. A policy learns the actions that begin a cheapest way, all with the same probability;
  /// none in a goal.
  bool Write(std::span<const std::uint8_t> state, DataBuffer& examples, std::size_t row) const;

  /// The number of the ball's state that row `row` of update `update` becomes; nothing if the row
  /// is not an anchor. Depends only on the seed and the two numbers.
  std::optional<std::size_t> Anchor(std::int64_t update, std::int64_t row) const;

 private:
  std::vector<float> CostsOfActions(std::span<const std::uint8_t> state, float cost) const;

  const Domain& domain_;
  const Head head_;
  const double share_;
  const std::uint64_t seed_;
  const std::shared_ptr<const GoalBall> ball_;
};

/// The ball of `exact`; null if `exact` is null.
inline std::shared_ptr<const GoalBall> BallOf(const std::shared_ptr<const ExactLabels>& exact) {
  return exact != nullptr ? exact->ball() : nullptr;
}

/// Builds the ball of generate.ball_radius. Null if that is 0. Throws InputError if the puzzle has
/// no such ball, or if the ball exceeds memory.ball_limit_gib: rows must not depend on that limit.
std::shared_ptr<const ExactLabels> MakeExactLabels(const Domain& domain, const Config& config);

}  // namespace tandem
