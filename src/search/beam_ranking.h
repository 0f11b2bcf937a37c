// What a beam search keeps of its states, and the order in which it takes their children.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "base/stop_signal.h"
#include "config/config.h"
#include "search/costs.h"
#include "search/evaluation.h"
#include "search/expander.h"
#include "tandem/domain.h"
#include "tandem/evaluator.h"

namespace tandem {

/// BeamPaths holds the paths to all states that a beam search has kept, as the last step of each. A
/// path begins at a state of depth 0. Such a state has no step, so nothing is stored for it.
class BeamPaths {
 public:
  /// The last step of a path: `action` in state `parent` of those kept one depth before.
  struct Step {
    std::uint32_t parent;
    Action action;
  };

  /// The last step of the path to child `child`, as Expander numbers the children of the states
  /// kept last. Divides 32-bit numbers, which takes half the time of dividing 64-bit ones.
  static Step StepTo(std::size_t child, int num_actions) {
    const auto index = static_cast<std::uint32_t>(child);
    const auto actions = static_cast<std::uint32_t>(num_actions);
    return {.parent = index / actions, .action = static_cast<Action>(index % actions)};
  }

  void Clear() { steps_.clear(); }

  /// Adds the states that were kept at the next depth.
  void Add(std::vector<Step> steps) { steps_.push_back(std::move(steps)); }

  /// The depth of the states that were added last, 0 if there are none.
  std::size_t depth() const { return steps_.size(); }

  /// The last steps of the paths to the states of the current depth. Empty at depth 0.
  std::span<const Step> last_steps() const;

  /// The actions of the path that ends with `step`, from a state that was kept at `depth`.
  std::vector<Action> PathBy(Step step, std::size_t depth) const;

  /// The actions of the path to state `index` of those kept at `depth`.
  std::vector<Action> PathTo(std::size_t index, std::size_t depth) const;

 private:
  std::vector<std::vector<Step>> steps_;  // steps_[d] belongs to depth d + 1
};

/// BeamFrontier holds the states that a beam search kept at one depth.
struct BeamFrontier {
  std::vector<std::uint8_t> states;
  std::vector<double> costs;  ///< of the paths to the states
  double least_cost = 0;      ///< minimum of costs
  /// 1 where the path begins at the inverse position. Empty if no path does.
  std::vector<std::uint8_t> of_inverse;

  /// How much more the path to a state costs than the cheapest path. Differences of costs suffice
  /// for ranking, and stay exact in a float however long the paths are.
  float ExcessCost(std::size_t state) const {
    return static_cast<float>(costs[state] - least_cost);
  }
};

/// BeamRanking evaluates the network for a beam search and puts the children of the frontier in
/// order, the best first. What it ranks by depends on the values that the network gives
/// (RankingOf):
///
/// - estimates of states: path cost plus the child's estimate, so children are evaluated
/// - Q values: path cost plus the Q value of the action, so the frontier is evaluated
/// - a policy alone: the surprisal of the path, which is the sum of those of its actions
///
/// If the network gives estimates and a policy, then search.policy_weight adds the weighted
/// surprisal of the path to the first of these, and search.policy_actions leaves out children of
/// improbable actions. Surprisals of paths are relative to the most probable kept path. Ties go to
/// the lower index, so that the result does not depend on the library's algorithm.
///
/// Not thread-safe. A returned span stays valid until the next call of a method that is not const.
class BeamRanking {
 public:
  /// The value that a child is ranked by, and its index.
  using Ranked = std::pair<float, std::uint32_t>;

  /// `domain` and `network` must outlive this.
  BeamRanking(const Domain& domain, Evaluator& network, const Config& config);

  /// Whether it ranks by estimates of the children's states, and RankStates is the method to call.
  /// Otherwise it is RankActions.
  bool ranks_states() const { return ranking_ == Ranking::kByStates; }

  /// Whether EstimateOf may be called. A policy alone estimates no costs.
  bool has_estimates() const { return ranking_ != Ranking::kByPolicy; }

  /// Begins a search whose first frontier has `num_states` states.
  void Begin(std::size_t num_states);

  /// Evaluates the policy in `states`, the frontier, if the ranking depends on it. Leaves out
  /// children of `expander` as search.policy_actions says. Call it before a method that ranks.
  void FollowPolicy(ConstRows states, Expander& expander, const StopSignal& stop);

  /// Returns the best `count` of `children`, whose states are `built`, in ascending order of
  /// their positions in `children`, by which they are numbered. Requires count <= children.size().
  std::span<const Ranked> RankStates(const BeamFrontier& frontier,
                                     std::span<const std::uint32_t> children, ConstRows built,
                                     std::size_t count, const StopSignal& stop);

  /// Ranks the children of `expander` that are not left out, for NextBest. `states` are those of
  /// the frontier.
  void RankActions(const BeamFrontier& frontier, ConstRows states, const Expander& expander,
                   const StopSignal& stop);

  /// Returns at least `wanted` of the remaining children, or all if there are fewer: the best ones,
  /// the best first.
  std::span<const Ranked> NextBest(std::size_t wanted);

  /// The number of children that RankActions has ranked and NextBest has not returned.
  std::size_t num_remaining() const { return ranked_.size() - num_returned_; }

  /// The estimate of the child that the last RankStates or RankActions numbered `i`. Requires
  /// has_estimates().
  float EstimateOf(std::uint32_t i) const;

  /// Makes `children` the frontier.
  void Advance(std::span<const std::uint32_t> children);

 private:
  BeamPaths::Step StepTo(std::size_t child) const {
    return BeamPaths::StepTo(child, spec_.num_actions());
  }
  template <class RankOfParent>
  void RankEach(std::span<const float> values, const Expander& expander,
                const RankOfParent& rank_of_parent);
  void EvaluatePolicy(ConstRows states, const StopSignal& stop);
  float PathSurprisal(std::uint32_t child) const {
    return path_surprisals_[StepTo(child).parent] + step_surprisals_[child];
  }

  const DomainSpec& spec_;
  const Ranking ranking_;
  const bool follows_policy_;         // evaluates the policy before children are chosen
  const float policy_weight_;         // 0: surprisals do not count
  const std::size_t policy_actions_;  // 0: all
  const float least_action_cost_;
  BatchEvaluator evaluator_;

  std::vector<float> path_surprisals_;  // of the frontier; only with a policy
  std::vector<float> step_surprisals_;  // of the step to each child; only with a policy
  std::span<const float> values_;       // estimates or Q values, by number of the child
  std::vector<Ranked> ranked_;
  std::size_t num_returned_ = 0;  // of ranked_, by NextBest
};

}  // namespace tandem
