// Beam search guided by a learned cost-to-go.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/config.h"
#include "search/beam_meeting.h"
#include "search/costs.h"
#include "search/evaluation.h"
#include "search/expander.h"
#include "search/goal_ball.h"
#include "search/hash_set.h"
#include "search/inverse_frame.h"
#include "search/search.h"
#include "tandem/domain.h"
#include "tandem/evaluator.h"

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
  void Begin(std::size_t num_states);

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
  std::span<const Ranked> NextBest(std::size_t wanted);

  /// The number of children that RankActions has ranked and NextBest has not returned.
  std::size_t num_remaining() const { return ranked_.size() - num_returned_; }

  /// The estimate of the child that the last ranking numbered `i`. Requires has_estimates().
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

/// Throws InputError that names `key` if `width` states of a puzzle have more than `most_children`
/// children. Call it before BeamSearch is made with a width that another key sets, because its own
/// error names search.beam_width.
void CheckBeamWidth(const DomainSpec& spec, std::int64_t width, std::string_view key,
                    std::int64_t most_children = std::numeric_limits<std::uint32_t>::max());

/// BeamSearch expands all kept states of one depth and keeps the search.beam_width children with
/// the least sum of path cost and estimated cost-to-go. It drops duplicates, states kept at an
/// earlier depth, children equal to their parent, and those of the action that undoes the last one.
/// It ends at the first depth that has a goal and returns the cheapest goal of that depth. States
/// of a ball around the goal count as goals: the search ends about as many depths earlier as the
/// ball has. States are compared by 64-bit hashes: with a million states kept, the chance that any
/// two collide is about 3e-8.
///
/// A Q net ranks the children by the Q values of the actions that lead to them, in one evaluation
/// for each kept state instead of each child. At the same cost, the beam can be wider by about the
/// number of actions.
///
/// A policy ranks the children by the probability of the whole path and takes no account of costs,
/// as EfficientCube does (Takano, "Self-Supervision is All You Need for Solving Rubik's Cube", TMLR
/// 2023). Unlike EfficientCube, the search also drops duplicates. A policy has no estimates, so a
/// search without a solution reports no best path. With search.policy_actions, it expands only that
/// many of the most probable actions of a state, and those that complete a solution.
///
/// Head vp ranks the children by cost and estimate. With search.policy_weight, it adds that weight
/// times minus the log probability of the path, as in policy-guided heuristic search (Orseau and
/// Lelis, AAAI 2021). search.policy_actions works as with a policy (as in DeepXube's beam_v_p). The
/// two keys together take one more evaluation per kept state.
///
/// Hashes come first: of a permutation puzzle, only children that are new are built, encoded and
/// evaluated. With a Q net or a policy, only kept children are built (Expander::ExpandHashes).
///
/// With search.inverse, the beam starts from the position and from its inverse (InverseFrame),
/// whose children compete for the same places. The first solution of either ends the search.
///
/// With search.method bidirectional_beam, the two beams meet in the middle. The moves from the
/// inverse of the start to a state lead from the goal to a position, and the state's cost-to-go is
/// the cost between that position and the start. So the beam of the inverse position is a search
/// from the goal, which the same network guides. The search ends when a kept position of one beam
/// equals one of the other, and the cheapest such pair of paths is the solution. If the beams hold
/// all states and all actions cost the same, it is a shortest one.
///
/// Puzzles are solved one after another.
class BeamSearch final : public Search {
 public:
  /// Any Evaluator can be the network. Throws InputError as MakeInverseFrame does.
  BeamSearch(const Domain& domain, Evaluator& network, const Config& config,
             std::shared_ptr<const GoalBall> ball = nullptr);

  void SolveAll(const ProblemBatch& problems, const StopSignal& stop, const Done& done) override;

  /// Searches for a solution of `start` with the limits in `limits` on width, length, cost, time,
  /// nodes and memory in place of those of the config.
  SearchResult SolveWithin(const SearchConfig& limits, std::span<const std::uint8_t> start,
                           const StopSignal& stop);

  /// Whether the last search kept every new state, so that a wider beam would find nothing else.
  bool kept_all() const { return kept_all_; }

  std::string Describe() const override;
  std::string_view MainKey() const override { return "search.beam_width"; }
  std::string Failure(const SearchResult& result) const override {
    return FailureWith(config_, result);
  }

  /// What Failure says about any beam search with `config`.
  static std::string FailureWith(const SearchConfig& config, const SearchResult& result);

 private:
  using Step = BeamPaths::Step;

  // The state with the least estimate: a child of a state that is `depth` steps from the start.
  struct Nearest {
    float estimate;
    std::size_t depth;
    Step step;
  };

  void Begin(std::span<const std::uint8_t> start);
  std::optional<StopReason> GoDeeper(const StopSignal& within, SearchResult& result,
                                     std::optional<std::vector<Action>>& solution);
  std::optional<StopReason> LimitReached(std::int64_t nodes) const;
  std::int64_t BytesStored(std::size_t more = 0) const;
  std::int64_t BytesOfNextDepth() const;
  std::vector<Action> UndoingActions() const;
  std::optional<std::vector<Action>> CheapestSolution() const;
  std::vector<std::uint32_t> NewChildren();
  std::vector<std::uint32_t> ChooseByStates(const StopSignal& stop,
                                            std::vector<std::uint8_t>& into);
  std::vector<std::uint32_t> ChooseByActions(const StopSignal& stop,
                                             std::vector<std::uint8_t>& into);
  bool TakeNew(std::span<const BeamRanking::Ranked> best, std::vector<std::uint32_t>& chosen);
  void Keep(const std::vector<std::uint32_t>& children);
  void NoteEstimate(std::uint32_t child, float estimate);
  void FinishResult(SearchResult& result) const;

  ConstRows states() const;
  Step StepTo(std::size_t child) const {
    return BeamPaths::StepTo(child, domain_.spec().num_actions());
  }
  double CostTo(std::size_t child) const;
  bool IsExcluded(std::size_t child);
  std::uint64_t SaltedHash(std::size_t child) const;
  bool OfInverse(std::size_t parent) const {
    return !frontier_.of_inverse.empty() && frontier_.of_inverse[parent] != 0;
  }

  const Domain& domain_;
  const SearchConfig config_;
  const std::shared_ptr<const GoalBall> ball_;  // may be null
  const std::optional<InverseFrame> inverse_;   // only if the search begins at both positions
  const bool costs_differ_;

  // Of the current search.
  SearchConfig limits_;
  CostBound bound_;
  bool excluded_ = false;  // a child was dropped because of bound_
  bool kept_all_ = true;   // no child was dropped because of the width
  BeamFrontier frontier_;  // of the current depth
  BeamPaths paths_;
  HashSet kept_;
  std::optional<Nearest> nearest_;
  std::optional<BeamMeeting> meeting_;  // only if the search is bidirectional

  Expander expander_;
  BeamRanking ranking_;
  HashSet seen_;                     // hashes seen among the current children
  std::vector<std::uint8_t> built_;  // states of new children
  BeamFrontier next_;                // its memory takes turns with that of frontier_
};

}  // namespace tandem
