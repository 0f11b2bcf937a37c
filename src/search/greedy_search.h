// Greedy steps: a search that follows one path, the descents of validation, and hints.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/stop_signal.h"
#include "config/config.h"
#include "search/costs.h"
#include "search/evaluation.h"
#include "search/expander.h"
#include "search/goal_ball.h"
#include "search/search.h"
#include "tandem/domain.h"
#include "tandem/evaluator.h"

namespace tandem {

/// GreedySearch follows one path from each start. If a child of the current state is a goal, or in
/// the ball around the goal, it takes the cheapest such child, whose path to the goal completes the
/// solution. Otherwise it steps to the child with the least sum of the action's cost and the
/// estimate, but never to a state that is already on the path. It ends if no other child is left,
/// after search.max_length actions, or before it would exceed search.max_nodes or search.max_gib.
/// All starts advance in lock step (SolveInGroups); each may take search.max_seconds.
///
/// With a Q net, it takes the action with the least Q value, and with a policy the most probable
/// one. It then evaluates each state of a path instead of its children.
///
/// It shows quickly what a network has learned. Validation does not use it, but DescendGreedily,
/// which may visit a state twice.
class GreedySearch final : public Search {
 public:
  /// Any Evaluator can be the network.
  GreedySearch(const Domain& domain, Evaluator& network, const Config& config,
               std::shared_ptr<const GoalBall> ball = nullptr);

  /// Searches from a few thousand starts at a time.
  void SolveAll(const ProblemBatch& problems, const StopSignal& stop, const Done& done) override;

  std::string Describe() const override { return "greedy search"; }
  std::string_view MainKey() const override { return ""; }
  std::string Failure(const SearchResult& result) const override;

 private:
  struct Path;

  std::vector<Path> Begin(const ProblemBatch& problems) const;
  void CheckLimits(Path& path) const;
  std::int64_t BytesOf(const Path& path) const;
  void StepAll(std::vector<Path>& paths, const StopSignal& stop);
  bool FinishThroughKnown(Path& path, std::size_t first) const;
  void Step(Path& path, std::size_t first, std::span<const float> values);
  SearchResult ResultOf(Path& path) const;

  const Domain& domain_;
  const SearchConfig config_;
  const Ranking ranking_;
  const std::shared_ptr<const GoalBall> ball_;  // may be null
  Expander expander_;
  BatchEvaluator evaluator_;
  std::vector<std::uint8_t> states_;  // of the current step, one for each path
};

/// From each start, repeatedly takes the action with the least sum of its cost and its child's
/// estimate, until a goal is a child of the current state. Element i of the result is the number of
/// actions from start i to a goal, or nothing if more than most_actions[i] would be needed.
///
/// With a policy alone, it takes the most probable action that changes the state, and evaluates
/// states instead of their children. `rows_per_call`, threads and exceptions are those of
/// BatchEvaluator.
std::vector<std::optional<std::int64_t>> DescendGreedily(const Domain& domain, Evaluator& network,
                                                         std::size_t rows_per_call,
                                                         ConstRows starts,
                                                         std::span<const std::int64_t> most_actions,
                                                         const StopSignal& stop);

/// Hint is the advice of a network for one state.
struct Hint {
  float estimate = 0;                ///< estimated cost-to-go of the state; 0 in a goal
  std::optional<Action> action;      ///< the best action; nothing in a goal or if no action applies
  float rest = 0;                    ///< estimated cost-to-go after that action
  std::optional<float> probability;  ///< of the action, from a policy, which estimates no costs
};

/// Returns the advice of `network` for a state. Actions that leave the state unchanged are ignored,
/// and ties go to the first action. Throws like BatchEvaluator.
///
/// - estimates of states: the best action has the least sum of its cost and its child's estimate.
///   The estimate of a goal is 0, and negative estimates count as 0.
/// - Q values: evaluates the state once. Its estimate is the best action's cost plus `rest`.
/// - a policy alone: evaluates the state once. The best action is the most probable one.
Hint HintFor(const Domain& domain, Evaluator& network, std::span<const std::uint8_t> state);

}  // namespace tandem
