#include "search/beam_search.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <limits>
#include <numeric>
#include <utility>

#include "base/stopwatch.h"

namespace tandem {

BeamSearch::BeamSearch(const Domain& domain, Evaluator& network, const Config& config,
                       QEvaluator* q_net, std::shared_ptr<const GoalBall> ball)
    : domain_(domain),
      config_(config.search),
      width_(static_cast<std::size_t>(config.search.beam_width)),
      q_net_(config.network.head == Head::kVp ? nullptr : q_net),
      is_policy_(q_net_ != nullptr && config.network.head == Head::kPolicy),
      added_policy_(config.network.head == Head::kVp && config.search.policy_weight > 0 ? q_net
                                                                                        : nullptr),
      ball_(std::move(ball)),
      costs_differ_(std::ranges::adjacent_find(domain.spec().action_costs, std::not_equal_to()) !=
                    domain.spec().action_costs.end()),
      expander_(domain, network, static_cast<std::size_t>(config.inference.batch_size), ball_) {}

void BeamSearch::SolveAll(ConstRows starts, const StopSignal& stop, const Done& done) {
  for (std::size_t i = 0; i < starts.size(); ++i) {
    const Stopwatch watch;
    SearchResult result = SolveOne(starts[i], stop);
    result.seconds = watch.Seconds();
    done(i, std::move(result));
  }
}

SearchResult BeamSearch::SolveOne(std::span<const std::uint8_t> start, const StopSignal& stop) {
  const Stopwatch watch;
  steps_.clear();
  kept_.clear();
  nearest_.reset();
  frontier_.assign(start.begin(), start.end());
  costs_ = {0};
  surprisals_ = {0};
  least_cost_ = 0;
  kept_.insert(HashState(start));

  SearchResult result;
  result.solved = IsGoal(domain_, start);
  if (ball_ != nullptr && ball_->CostOf(start)) {
    std::vector<Action> way = ball_->WayHome(start);
    result.solved = std::cmp_less_equal(way.size(), config_.max_length);
    if (result.solved) result.actions = std::move(way);
  }
  while (!result.solved) {
    if (stop.Reached()) throw Stopped();
    const std::optional<Ended> limit = LimitReached(watch.Seconds());
    if (limit) {
      result.ended = *limit;
      break;
    }
    expander_.Expand(frontier());
    result.nodes += static_cast<std::int64_t>(expander_.size());
    result.expanded += static_cast<std::int64_t>(frontier().size());
    if (std::optional<std::vector<Action>> solution = CheapestSolution()) {
      result.solved = true;
      result.actions = std::move(*solution);
    } else {
      Keep(q_net_ != nullptr ? ChooseByActions(stop) : ChooseByStates(stop));
    }
  }
  FinishResult(result);
  return result;
}

std::optional<Ended> BeamSearch::LimitReached(double seconds) const {
  if (frontier_.empty()) return Ended::kExhausted;
  if (std::cmp_greater_equal(steps_.size(), config_.max_length)) return Ended::kLengthLimit;
  if (config_.max_seconds > 0 && seconds >= config_.max_seconds) return Ended::kTimeLimit;
  return std::nullopt;
}

ConstRows BeamSearch::frontier() const {
  const auto state_size = static_cast<std::size_t>(domain_.spec().state_size);
  return {frontier_.data(), frontier_.size() / state_size, state_size};
}

// The cheapest solution that leads through a child whose cost-to-go is known. Ties go to the lower
// index. A way home from the ball may make a solution longer than search.max_length; such a
// solution does not count.
std::optional<std::vector<Action>> BeamSearch::CheapestSolution() const {
  std::optional<std::size_t> cheapest;
  float least = std::numeric_limits<float>::infinity();
  for (std::size_t i = 0; i < expander_.size(); ++i) {
    const float rest = expander_.KnownCost(i);
    if (std::isinf(rest) || CostTo(i) + rest >= least) continue;
    const std::size_t length = steps_.size() + 1 + (rest > 0 ? expander_.WayHome(i).size() : 0);
    if (std::cmp_greater(length, config_.max_length)) continue;
    cheapest = i;
    least = CostTo(i) + rest;
  }
  if (!cheapest) return std::nullopt;
  std::vector<Action> actions = PathTo(steps_.size(), StepTo(*cheapest));
  std::ranges::copy(expander_.WayHome(*cheapest), std::back_inserter(actions));
  return actions;
}

float BeamSearch::CostTo(std::size_t child) const {
  const Step step = StepTo(child);
  return costs_[step.parent] + domain_.spec().action_costs[step.action];
}

// The children whose states were not kept before, in ascending order. Of equal children only the
// cheapest is included, on ties the first.
std::vector<std::uint32_t> BeamSearch::NewChildren() {
  std::vector<std::uint32_t> order(expander_.size());
  std::iota(order.begin(), order.end(), 0U);
  if (costs_differ_) {
    std::ranges::stable_sort(order, {}, [&](std::uint32_t child) { return CostTo(child); });
  }
  seen_.clear();
  seen_.reserve(order.size());
  std::erase_if(order, [&](std::uint32_t child) {
    const std::uint64_t hash = expander_.hashes()[child];
    return expander_.unchanged()[child] != 0 || kept_.contains(hash) || !seen_.insert(hash).second;
  });
  if (costs_differ_) std::ranges::sort(order);
  return order;
}

// The new children with the least sum of path cost and estimate and, with head vp, of the weighted
// surprisal of the path.
std::vector<std::uint32_t> BeamSearch::ChooseByStates(const StopSignal& stop) {
  std::vector<std::uint32_t> children = NewChildren();
  std::vector<float> surprisals;  // of the step to each child, by the added policy
  if (added_policy_ != nullptr) {
    const auto values = expander_.EstimateActions(*added_policy_, frontier(), stop);
    surprisals.assign(values.begin(), values.end());  // Estimate overwrites them
  }
  if (children.size() <= width_) {
    if (added_policy_ != nullptr) NoteSurprisals(children, surprisals);
    return children;
  }
  const std::span<const float> values = expander_.Estimate(expander_.children(), children, stop);
  std::vector<Ranked> ranked(children.size());
  const float least_cost = LeastCost(domain_.spec());
  for (std::uint32_t i = 0; i < ranked.size(); ++i) {
    const Step step = StepTo(children[i]);
    const float more = domain_.spec().action_costs[step.action] - least_cost;
    float rank = values[i] + Excess(step.parent) + more;
    if (added_policy_ != nullptr) {
      const float surprisal = surprisals_[step.parent] + surprisals[children[i]];
      rank += static_cast<float>(config_.policy_weight) * surprisal;
    }
    ranked[i] = {rank, i};
  }
  std::ranges::nth_element(ranked, ranked.begin() + static_cast<std::ptrdiff_t>(width_));
  ranked.resize(width_);
  std::ranges::sort(ranked, {}, &Ranked::second);
  std::vector<std::uint32_t> chosen;
  for (const auto& [rank, i] : ranked) {
    NoteEstimate(children[i], values[i]);
    chosen.push_back(children[i]);
  }
  if (added_policy_ != nullptr) NoteSurprisals(chosen, surprisals);
  return chosen;
}

// The new children with the least sum of path cost and Q value or, with a policy, with the most
// probable paths.
std::vector<std::uint32_t> BeamSearch::ChooseByActions(const StopSignal& stop) {
  const std::span<const float> values = expander_.EstimateActions(*q_net_, frontier(), stop);
  std::vector<Ranked> ranked(values.size());
  for (std::uint32_t i = 0; i < ranked.size(); ++i) {
    ranked[i] = {values[i] + Excess(StepTo(i).parent), i};
  }
  // Take as many of the best children as are still needed, and repeat, since some of them are
  // duplicates.
  std::vector<std::uint32_t> chosen;
  auto best = ranked.begin();
  while (chosen.size() < width_ && best != ranked.end()) {
    const auto wanted = static_cast<std::ptrdiff_t>(width_ - chosen.size());
    const auto end = best + std::min(wanted, ranked.end() - best);
    std::nth_element(best, end, ranked.end());
    std::sort(best, end);  // decides which of several equal children is kept
    for (; best != end; ++best) {
      const std::uint32_t child = best->second;
      if (expander_.unchanged()[child] != 0) continue;
      if (!kept_.insert(expander_.hashes()[child]).second) continue;
      chosen.push_back(child);
      if (is_policy_) continue;
      NoteEstimate(child, values[child] - domain_.spec().action_costs[StepTo(child).action]);
    }
  }
  std::ranges::sort(chosen);
  if (is_policy_) NoteSurprisals(chosen, values);
  return chosen;
}

void BeamSearch::NoteEstimate(std::uint32_t child, float estimate) {
  if (nearest_ && estimate >= nearest_->estimate) return;
  nearest_ = {.estimate = estimate, .depth = steps_.size(), .step = StepTo(child)};
}

// Differences suffice for ranking, and stay exact in a float however long the path is.
void BeamSearch::NoteSurprisals(const std::vector<std::uint32_t>& children,
                                std::span<const float> values) {
  std::vector<float> surprisals;
  surprisals.reserve(children.size());
  for (const std::uint32_t child : children) {
    surprisals.push_back(values[child] + surprisals_[StepTo(child).parent]);
  }
  const float least = surprisals.empty() ? 0 : *std::ranges::min_element(surprisals);
  for (float& surprisal : surprisals) surprisal -= least;
  surprisals_ = std::move(surprisals);
}

void BeamSearch::Keep(const std::vector<std::uint32_t>& children) {
  std::vector<Step>& steps = steps_.emplace_back();
  steps.reserve(children.size());
  frontier_.clear();
  std::vector<float> costs;
  costs.reserve(children.size());
  for (const std::uint32_t child : children) {
    steps.push_back(StepTo(child));
    costs.push_back(CostTo(child));
    const std::span<const std::uint8_t> state = expander_.children()[child];
    frontier_.insert(frontier_.end(), state.begin(), state.end());
    kept_.insert(expander_.hashes()[child]);
  }
  costs_ = std::move(costs);
  least_cost_ = costs_.empty() ? 0 : *std::ranges::min_element(costs_);
}

BeamSearch::Step BeamSearch::StepTo(std::size_t child) const {
  const std::size_t num_actions = domain_.spec().num_actions();
  return {.parent = static_cast<std::uint32_t>(child / num_actions),
          .action = static_cast<Action>(child % num_actions)};
}

// The actions to the state that `step` leads to from a state kept at `depth`.
std::vector<Action> BeamSearch::PathTo(std::size_t depth, Step step) const {
  std::vector<Action> actions = {step.action};
  while (depth-- > 0) {
    step = steps_[depth][step.parent];
    actions.push_back(step.action);
  }
  std::ranges::reverse(actions);
  return actions;
}

// Fills in the fields of `result` that follow from how the search ended.
void BeamSearch::FinishResult(SearchResult& result) const {
  result.stored = static_cast<std::int64_t>(kept_.size());
  const std::size_t in_table = kept_.capacity() * (sizeof(std::uint64_t) + 1);
  result.bytes =
      static_cast<std::int64_t>(in_table + kept_.size() * sizeof(Step) + frontier_.size());
  result.cost = CostOf(domain_.spec(), result.actions);
  if (result.solved) {
    result.ended = Ended::kSolved;
  } else if (nearest_) {
    result.best = {.actions = PathTo(nearest_->depth, nearest_->step),
                   .estimate = nearest_->estimate};
    result.best->cost = CostOf(domain_.spec(), result.best->actions);
  }
}

}  // namespace tandem
