// The states that a beam search keeps at a depth, and the rank of their children.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "base/stop_signal.h"
#include "config/config.h"
#include "search/beam_meeting.h"
#include "search/costs.h"
#include "search/evaluation.h"
#include "search/expander.h"
#include "tandem/domain.h"

namespace tandem {

/// BeamFrontier holds the states that a beam search kept at one depth.
struct BeamFrontier {
  std::vector<std::uint8_t> states;
  std::vector<double> costs;  ///< of the paths to the states
  double least_cost = 0;      ///< minimum of costs
  /// 1 where the path begins at the inverse position. Empty if no path does.
  std::vector<std::uint8_t> of_inverse;

  /// How much more the path to a state costs than the cheapest one. Differences suffice for
  /// ranking, and stay exact in a float however long the paths are.
  float ExcessCost(std::size_t state) const {
    return static_cast<float>(costs[state] - least_cost);
  }
};

/// BeamRanking evaluates the network for a beam search and ranks the children of the frontier, the
/// best first, by what the network gives (RankingOf):
///
/// - estimates of states: path cost plus the child's estimate, so children are evaluated
/// - Q values: path cost plus the Q value of the action, so the frontier is evaluated
/// - a policy alone: the surprisal of the path, which is the sum of those of its actions
///
/// With estimates and a policy, search.policy_weight adds the weighted surprisal of the path to the
/// first of these, and search.policy_actions leaves out children of improbable actions. Surprisals
/// of paths are relative to the most probable kept path. Ties go to the lower index, so that the
/// result does not depend on the library's algorithm.
///
/// Not thread-safe. A returned span stays valid until the next call of a method that is not const.
class BeamRanking {
 public:
  /// The value that a child is ranked by, and its index.
  using Ranked = std::pair<float, std::uint32_t>;

  /// `domain` and `network` must outlive this.
  BeamRanking(const Domain& domain, Evaluator& network, const Config& config);

  /// Whether to rank by RankStates, by estimates of the children's states, or else by RankActions.
  bool ranks_states() const { return ranking_ == Ranking::kByStates; }

  /// Whether EstimateOf may be called. A policy alone estimates no costs.
  bool has_estimates() const { return ranking_ != Ranking::kByPolicy; }

  /// Begins a search whose first frontier has `num_states` states.
  void Begin(std::size_t num_states) { path_surprisals_.assign(num_states, 0); }

  /// Evaluates the policy in `states`, the frontier, if the ranking depends on it. Leaves out
  /// children of `expander` as search.policy_actions says. Call it before a method that ranks.
  void FollowPolicy(ConstRows states, Expander& expander, const StopSignal& stop);

  /// Returns the best `count` of `children`, whose states are `built`, in ascending order of
  /// their positions in `children`, by which they are numbered. Requires count <= children.size().
  std::span<const Ranked> RankStates(const BeamFrontier& frontier,
                                     std::span<const std::uint32_t> children, ConstRows built,
                                     std::size_t count, const StopSignal& stop);

  /// Ranks the children of `expander` that are not left out, for NextBest. `states` is the
  /// frontier.
  void RankActions(const BeamFrontier& frontier, ConstRows states, const Expander& expander,
                   const StopSignal& stop);

  /// Returns the best of the remaining children, the best first: at least `wanted`, or all of them.
  /// Sorts only what it returns. The caller drops duplicates and asks again, so each call sorts at
  /// least a fixed share of the rest. Calls are then few even if nearly all children are
  /// duplicates.
  std::span<const Ranked> NextBest(std::size_t wanted);

  /// The number of children that RankActions has ranked and NextBest has not returned.
  std::size_t num_remaining() const { return ranked_.size() - num_returned_; }

  /// The estimate of the child that the last ranking numbered `i`. Requires has_estimates().
  float EstimateOf(std::uint32_t i) const {
    return ranks_states() ? values_[i] : values_[i] - spec_.action_costs[StepTo(i).action];
  }

  /// Makes `children` the frontier: sets the surprisals of the paths to them. Differences suffice
  /// for ranking, and stay exact in a float however long the path is.
  void Advance(std::span<const std::uint32_t> children);

 private:
  BeamPaths::Step StepTo(std::size_t child) const {
    return BeamPaths::StepTo(child, spec_.num_actions());
  }

  // Ranks each child that is not left out by its value plus the rank of its parent.
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
