// A search that follows one path, with limits and a memory of the states on it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/config.h"
#include "search/batch_evaluator.h"
#include "search/costs.h"
#include "search/expander.h"
#include "search/goal_ball.h"
#include "search/search.h"
#include "tandem/domain.h"
#include "tandem/evaluator.h"

namespace tandem {

/// GreedySearch follows one path from each start. If a child of the current state is a goal, or in
/// the ball around the goal, it takes the cheapest such child, whose path to the goal completes the
/// solution. Otherwise it steps to the child with the least sum of the action's cost and the
/// estimate. It never steps to a state that is already on the path. It ends if no other child is
/// left, after search.max_length actions, or before it would exceed search.max_nodes or
/// search.max_gib. All starts advance in lock step, and the time of a step is divided evenly among
/// them; each may take search.max_seconds.
///
/// With a Q net, it takes the action with the least Q value, and with a policy the most probable
/// one. It then evaluates each state of a path instead of its children.
///
/// It shows quickly what a network has learned: a solution costs one evaluation of each child.
///
/// Validation does not use this search, but DescendGreedily, which may visit a state twice.
class GreedySearch final : public Search {
 public:
  /// Follows the limits of config.search; passes at most inference.batch_size states per call to
  /// the network, which any Evaluator can be. `domain` and `network` must outlive this. `ball` may
  /// be null.
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
  std::vector<float> ValuesOfChildren(ConstRows states, const StopSignal& stop);
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

}  // namespace tandem
