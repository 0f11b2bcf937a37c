// The states around the goal, each with its exact cost-to-go and a cheapest path to the goal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "config/config.h"
#include "search/costs.h"
#include "search/node_table.h"
#include "tandem/domain.h"

namespace tandem {

/// GoalBall holds every state whose cost-to-go is at most radius(), with that cost and the first
/// action of a cheapest path to the goal. A cost-to-go that exceeds the radius only because its sum
/// was rounded counts as at most the radius. A uniform-cost search from the goal over the inverses
/// of the actions builds it, on the TBB threads of the caller's arena.
///
/// A ball serves as the goal set of searches and as a source of exact labels. States are compared
/// by all their bytes. The ball does not depend on the number of threads. Const methods are
/// thread-safe.
class GoalBall {
 public:
  /// Builds the ball around the goal of `domain`. If the states would take more than `most_bytes`
  /// bytes, the ball ends at the largest smaller radius that fits. Throws InputError that gives the
  /// reason if the puzzle has no such ball: its goals differ by problem, some action has no
  /// inverse, or another state within the radius, or on some random walks of twice its length, is
  /// a goal. Code that meets a goal elsewhere must call RefuseSecondGoal.
  GoalBall(const Domain& domain, float radius, std::size_t most_bytes);

  /// The ball has all states whose cost-to-go is at most this.
  float radius() const { return radius_; }
  /// True if the memory limit made the radius smaller than requested.
  bool limited() const { return limited_; }
  /// The number of states.
  std::size_t size() const { return nodes_.size(); }
  /// The memory of the states, in bytes.
  std::size_t bytes() const { return nodes_.bytes(); }
  /// A lower bound on the cost-to-go of the states outside. Infinite only if there are none.
  float least_cost_outside() const { return least_cost_outside_; }

  /// The exact cost-to-go of `state`, or nothing if it is not in the ball. `hash` is
  /// HashState(state).
  std::optional<float> CostOf(std::span<const std::uint8_t> state, std::uint64_t hash) const;
  std::optional<float> CostOf(std::span<const std::uint8_t> state) const;

  /// The actions of a cheapest way from `state`, which must be in the ball, to the goal.
  std::vector<Action> PathToGoal(std::span<const std::uint8_t> state) const;

  /// State i and its cost-to-go. Requires i < size().
  std::span<const std::uint8_t> state(std::size_t i) const {
    return nodes_.state(static_cast<std::uint32_t>(i));
  }
  float cost(std::size_t i) const {
    return static_cast<float>(nodes_[static_cast<std::uint32_t>(i)].cost);
  }

 private:
  class Builder;

  NodeTable nodes_;  // a node's parent and action are the first step of its path to the goal
  float radius_;
  bool limited_ = false;
  float least_cost_outside_ = std::numeric_limits<float>::infinity();
};

/// Throws InputError because `goal` is not the goal at the centre of the ball, whose costs are
/// therefore not those to the nearest goal.
[[noreturn]] void RefuseSecondGoal(const Domain& domain, std::span<const std::uint8_t> goal);

/// The longest solution if nothing limits its length.
inline constexpr std::int64_t kAnyLength = std::numeric_limits<std::int64_t>::max();

/// Returns a solution of `state` that needs no search: no actions if the state is a goal, or the
/// ball's path to the goal if it is in `ball`, which may be null. Nothing if there is no such
/// solution, if it costs more than `bound` allows, or if it has more than `max_length` actions.
std::optional<std::vector<Action>> KnownSolution(const Domain& domain, const GoalBall* ball,
                                                 const CostBound& bound, std::int64_t max_length,
                                                 std::span<const std::uint8_t> state);

/// The ball with the given radius around the goal, within memory.ball_limit_gib. Null if `radius`
/// is 0. Logs its size. Throws InputError if the puzzle has no such ball.
std::shared_ptr<const GoalBall> MakeGoalBall(const Domain& domain, double radius,
                                             const MemoryConfig& memory);

}  // namespace tandem
