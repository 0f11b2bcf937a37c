// Labels that need no network: of states near the goal, and of paths to a goal.
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

  /// Writes the label of each state in the ball, of states[i] to row rows[i] of `examples`
  /// (ExampleSchema), and gives all its outputs the weight 1 if rows have weights. Returns which
  /// states are in the ball, 1 or 0; the rows of the others stay as they are.
  ///
  /// A Q net learns the cost of each action, and head q_in that of the action in the row's input,
  /// which must be written before. A child outside the ball counts as one move further from the
  /// goal than its parent. If all actions cost the same, that is exact; otherwise it is an upper
  /// bound. A policy learns the actions that begin a cheapest way, all with the same probability;
  /// none in a goal.
  std::vector<std::uint8_t> Write(ConstRows states, std::span<const std::size_t> rows,
                                  DataBuffer& examples) const;

  /// The number of the ball's state that row `row` of update `update` becomes; nothing if the row
  /// is not an anchor. Depends only on the seed and the two numbers.
  std::optional<std::size_t> Anchor(std::int64_t update, std::int64_t row) const;

 private:
  std::vector<float> CostsOfActions(ConstRows states, std::span<const float> costs) const;
  void WriteLabel(float cost, std::span<const float> of_actions, DataBuffer& examples,
                  std::size_t row) const;

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

/// Returns the actions that do not apply in a state, given the flags of Domain::Mask. They leave
/// the state as it is, so the value of each is its cost plus the state's cost-to-go. No path takes
/// them. If rows never labelled them either, a Q net could value them least, and its estimate of a
/// state is its least value.
std::vector<Action> IdleActions(std::span<const std::uint8_t> applies);

/// Does what EncodeInputs does, and writes the input of state i to row rows[i] of `out`.
void EncodeInputsOf(const Domain& domain, ConstRows states, std::span<const Action> actions,
                    std::span<const std::size_t> rows, DataBuffer& out);

/// PathRow says which row of the examples a state on a path becomes, and which actions lead from
/// the state to a goal.
struct PathRow {
  std::size_t row;
  std::span<const Action> rest;
};

/// PathLabels writes what a path to a goal says about one of its states:
///
/// - V net: the cost of the rest of the path.
/// - Q net: that cost, for the first action of the rest, and the value of each idle action. The
///   others have weight 0.
/// - Head q_in: that cost, for the first action, which is part of the input.
/// - Policy: the first action. If all actions commute and undo themselves
///   (CommuteAndUndoThemselves), each action of the rest could be the first, so they share the
///   probability, without those that the rest takes an even number of times.
/// - Head vp: the cost and what a policy learns.
///
/// An idle action is one that does not apply (IdleActions). A label is an upper bound of the true
/// cost, and exact if the path is a cheapest one. All methods are thread-safe for different rows.
class PathLabels {
 public:
  /// `domain` must outlive this.
  PathLabels(const Domain& domain, Head head);

  /// Writes the examples of `states`, and what their paths say about them, to rows of `out`
  /// (ExampleSchema). paths[i] belongs to row i of `states`.
  ///
  /// A goal, whose path is empty, has no first action: only idle ones have a weight in a Q
  /// net, and all probabilities of a policy are 0. A row of head q_in must have an action; it takes
  /// the first one, which is right if no action leaves the goal.
  void Write(ConstRows states, std::span<const PathRow> paths, DataBuffer& out) const;

 private:
  void WriteLabel(const PathRow& path, std::span<const std::uint8_t> applies,
                  DataBuffer& out) const;
  void WritePolicy(std::span<const Action> rest, std::span<float> policy) const;

  const Domain& domain_;
  const Head head_;
  const bool order_matters_;
};

}  // namespace tandem
