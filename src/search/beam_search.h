// Beam search guided by a learned cost-to-go.
#pragma once

#include <absl/container/flat_hash_set.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "config/config.h"
#include "search/ball.h"
#include "search/expander.h"
#include "search/search.h"
#include "tandem/domain.h"
#include "tandem/evaluator.h"

namespace tandem {

/// BeamSearch expands all kept states of one depth and keeps the search.beam_width children with
/// the least sum of path cost and estimated cost-to-go. It drops duplicates, states kept at an
/// earlier depth, and children equal to their parent (the result of an action that does not apply).
/// It ends at the first depth that has a goal and returns the cheapest goal of that depth. With a
/// ball around the goal, each state of the ball counts as a goal: the search ends about as many
/// depths earlier as the ball has, and the way home from the ball completes the solution. States
/// are compared by 64-bit hashes: with a million states kept, the chance that any two collide is
/// about 3e-8.
///
/// With a Q net, it ranks the children by the Q values of the actions that lead to them. It then
/// evaluates once per kept state instead of once per child, so at the same cost the beam can be
/// wider by about the number of actions.
///
/// With a policy, it ranks the children by the probability of the whole path, the sum of the log
/// probabilities of its actions, and takes no account of costs, as EfficientCube does (Takano,
/// "Self-Supervision is All You Need for Solving Rubik's Cube", TMLR 2023). Unlike EfficientCube,
/// it also drops duplicates. A policy has no estimates, so a search without a solution reports no
/// best path.
///
/// With head vp, it ranks the children by cost and estimate. With search.policy_weight, it adds
/// that weight times minus the log probability of the path, which takes one more evaluation per
/// kept state. Policy-guided heuristic search combines the two as well (Orseau and Lelis, AAAI
/// 2021).
///
/// Puzzles are solved one after another.
class BeamSearch final : public Search {
 public:
  /// Follows config.search; passes at most inference.batch_size states per call to the network.
  /// Ranks by the action values of `q_net` or, if that is null, by the estimates of `network`.
  /// network.head says whether `q_net` is a Q net, a policy or, as head vp, both networks in one;
  /// the estimates of `network` then rank. `domain` and the networks must outlive this. `ball` may
  /// be null.
  BeamSearch(const Domain& domain, Evaluator& network, const Config& config,
             QEvaluator* q_net = nullptr, std::shared_ptr<const GoalBall> ball = nullptr);

  void SolveAll(ConstRows starts, const StopSignal& stop, const Done& done) override;

 private:
  // The last step of the path to a kept state.
  struct Step {
    std::uint32_t parent;  // index among the states kept one depth before
    Action action;
  };

  // The state with the least estimate, as the child of a state that is `depth` steps from the
  // start.
  struct Nearest {
    float estimate;
    std::size_t depth;
    Step step;
  };

  // A child of the frontier and the value that it is ranked by. Ties go to the lower index, so that
  // the result does not depend on the library's algorithm.
  using Ranked = std::pair<float, std::uint32_t>;

  SearchResult SolveOne(std::span<const std::uint8_t> start, const StopSignal& stop);
  std::optional<Ended> LimitReached(double seconds) const;
  std::optional<std::vector<Action>> CheapestSolution() const;
  std::vector<std::uint32_t> NewChildren();
  std::vector<std::uint32_t> ChooseByStates(const StopSignal& stop);
  std::vector<std::uint32_t> ChooseByActions(const StopSignal& stop);
  void Keep(const std::vector<std::uint32_t>& children);
  void NoteSurprisals(const std::vector<std::uint32_t>& children, std::span<const float> values);
  void NoteEstimate(std::uint32_t child, float estimate);
  void FinishResult(SearchResult& result) const;

  ConstRows frontier() const;
  Step StepTo(std::size_t child) const;
  float CostTo(std::size_t child) const;
  float Excess(std::size_t parent) const {
    return is_policy_ ? surprisals_[parent] : costs_[parent] - least_cost_;
  }
  std::vector<Action> PathTo(std::size_t depth, Step step) const;

  const Domain& domain_;
  const SearchConfig config_;
  const std::size_t width_;
  QEvaluator* const q_net_;
  const bool is_policy_;                        // whether q_net_ is a policy
  QEvaluator* const added_policy_;              // of head vp, with search.policy_weight
  const std::shared_ptr<const GoalBall> ball_;  // may be null

  const bool costs_differ_;
  std::vector<std::uint8_t> frontier_;  // the states of the current depth
  std::vector<float> costs_;            // path costs of the frontier states
  float least_cost_ = 0;                // minimum of costs_
  // With a policy, also an added one: minus the log probability of the path to each frontier state,
  // relative to the most probable one.
  std::vector<float> surprisals_;
  std::vector<std::vector<Step>> steps_;  // steps_[d] belongs to depth d + 1
  absl::flat_hash_set<std::uint64_t> kept_;
  std::optional<Nearest> nearest_;

  Expander expander_;
  absl::flat_hash_set<std::uint64_t> seen_;  // hashes seen among the current children
};

}  // namespace tandem
