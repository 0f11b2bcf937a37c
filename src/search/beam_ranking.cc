#include "search/beam_ranking.h"

#include <cmath>

namespace tandem {
namespace {

// Whether a policy is evaluated before children are chosen: to leave some out, or as a part of
// their rank beside their estimates.
bool FollowsPolicy(const Evaluator& network, const SearchConfig& config) {
  return network.action_values() == ActionValues::kSurprisals &&
         (config.policy_weight > 0 || config.policy_actions > 0);
}

// The rank of a child with the weighted surprisal of its path. An impossible path ranks last even
// if its estimate is minus infinity: their sum would be NaN, which cannot be sorted.
float WithSurprisal(float rank, float surprisal) {
  return std::isinf(surprisal) ? surprisal : rank + surprisal;
}

}  // namespace

BeamRanking::BeamRanking(const Domain& domain, Evaluator& network, const Config& config)
    : spec_(domain.spec()),
      ranking_(RankingOf(network)),
      follows_policy_(FollowsPolicy(network, config.search)),
      policy_weight_(follows_policy_ ? static_cast<float>(config.search.policy_weight) : 0),
      policy_actions_(follows_policy_ ? static_cast<std::size_t>(config.search.policy_actions) : 0),
      least_action_cost_(LeastCost(domain.spec())),
      evaluator_(domain, network, RowsPerCall(config)) {}

void BeamRanking::FollowPolicy(ConstRows states, Expander& expander, const StopSignal& stop) {
  if (!follows_policy_) return;
  EvaluatePolicy(states, stop);
  if (policy_actions_ > 0) expander.KeepBest(step_surprisals_, policy_actions_);
}

std::span<const BeamRanking::Ranked> BeamRanking::RankStates(
    const BeamFrontier& frontier, std::span<const std::uint32_t> children, ConstRows built,
    std::size_t count, const StopSignal& stop) {
  values_ = evaluator_.Estimate(built, stop);
  ranked_.resize(children.size());
  for (std::uint32_t i = 0; i < ranked_.size(); ++i) {
    const BeamPaths::Step step = StepTo(children[i]);
    const float more = spec_.action_costs[step.action] - least_action_cost_;
    float rank = values_[i] + frontier.ExcessCost(step.parent) + more;
    if (policy_weight_ > 0) {
      rank = WithSurprisal(rank, policy_weight_ * PathSurprisal(children[i]));
    }
    ranked_[i] = {rank, i};
  }
  std::ranges::nth_element(ranked_, ranked_.begin() + static_cast<std::ptrdiff_t>(count));
  ranked_.resize(count);
  std::ranges::sort(ranked_, {}, &Ranked::second);
  return ranked_;
}

void BeamRanking::RankActions(const BeamFrontier& frontier, ConstRows states,
                              const Expander& expander, const StopSignal& stop) {
  if (ranking_ == Ranking::kByPolicy) {
    if (!follows_policy_) EvaluatePolicy(states, stop);
    RankEach(step_surprisals_, expander,
             [&](std::size_t parent) { return path_surprisals_[parent]; });
  } else {
    values_ = evaluator_.EvaluateActions(states, stop);
    RankEach(values_, expander, [&](std::size_t parent) { return frontier.ExcessCost(parent); });
  }
}

std::span<const BeamRanking::Ranked> BeamRanking::NextBest(std::size_t wanted) {
  constexpr std::size_t kShareOfCall = 8;
  const std::size_t count =
      std::min(std::max(wanted, num_remaining() / kShareOfCall), num_remaining());
  const auto begin = ranked_.begin() + static_cast<std::ptrdiff_t>(num_returned_);
  const auto end = begin + static_cast<std::ptrdiff_t>(count);
  std::nth_element(begin, end, ranked_.end());
  std::sort(begin, end);  // decides which of several equal children is kept
  num_returned_ += count;
  return {begin, end};
}

void BeamRanking::Advance(std::span<const std::uint32_t> children) {
  if (has_estimates() && !follows_policy_) return;
  std::vector<float> next;
  next.reserve(children.size());
  for (const std::uint32_t child : children) next.push_back(PathSurprisal(child));
  const float least = children.empty() ? 0 : *std::ranges::min_element(next);
  for (float& surprisal : next) {
    // Paths that are all impossible are equally improbable. Infinity minus infinity would be NaN.
    surprisal = std::isinf(least) ? 0 : surprisal - least;
  }
  path_surprisals_ = std::move(next);
}

template <class RankOfParent>
void BeamRanking::RankEach(std::span<const float> values, const Expander& expander,
                           const RankOfParent& rank_of_parent) {
  num_returned_ = 0;
  ranked_.clear();
  ranked_.reserve(values.size());
  const std::span<const std::uint8_t> is_left_out = expander.is_left_out();
  const auto num_actions = static_cast<std::size_t>(spec_.num_actions());
  for (std::uint32_t i = 0, parent = 0; i < values.size(); ++parent) {
    const float of_parent = rank_of_parent(parent);
    for (std::size_t a = 0; a < num_actions; ++a, ++i) {
      if (is_left_out[i] == 0) ranked_.emplace_back(values[i] + of_parent, i);
    }
  }
}

void BeamRanking::EvaluatePolicy(ConstRows states, const StopSignal& stop) {
  const std::span<const float> values = evaluator_.EvaluateActions(states, stop);
  step_surprisals_.assign(values.begin(), values.end());
}

}  // namespace tandem
