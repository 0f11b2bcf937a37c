#include "search/greedy_search.h"

#include <absl/container/flat_hash_set.h>
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "base/stopwatch.h"
#include "search/cost_bound.h"
#include "search/costs.h"
#include "search/groups.h"

namespace tandem {

// The path from one start so far.
struct GreedySearch::Path {
  std::size_t number;  // index of the start
  std::vector<std::uint8_t> state;
  CostBound bound;
  absl::flat_hash_set<std::string> visited = {};
  SearchResult result = {};
  float cost = 0;
  std::optional<Ended> ended = std::nullopt;
};

namespace {

std::string Key(std::span<const std::uint8_t> state) { return {state.begin(), state.end()}; }

}  // namespace

GreedySearch::GreedySearch(const Domain& domain, Evaluator& network, const Config& config,
                           QEvaluator* q_or_policy, std::shared_ptr<const GoalBall> ball)
    : domain_(domain),
      config_(config.search),
      q_or_policy_(config.network.head == Head::kVp ? nullptr : q_or_policy),
      is_policy_(q_or_policy_ != nullptr && config.network.head == Head::kPolicy),
      ball_(std::move(ball)),
      expander_(domain, ball_),
      evaluator_(domain, network, static_cast<std::size_t>(config.inference.rows_at_once())) {}

void GreedySearch::SolveAll(const Starts& starts, const StopSignal& stop, const Done& done) {
  SolveInGroups(starts, done, [&](const Starts& group, const Done& done_of_group) {
    SolveTogether(group, stop, done_of_group);
  });
}

void GreedySearch::SolveTogether(const Starts& starts, const StopSignal& stop, const Done& done) {
  LapTimer timer;
  std::vector<Path> paths;
  for (std::size_t i = 0; i < starts.size(); ++i) {
    paths.push_back(Begin(i, starts.states[i], starts.AtMost(i, config_.at_most)));
  }
  const auto num_actions = static_cast<std::size_t>(domain_.spec().num_actions());
  std::vector<std::uint8_t> states;
  for (;;) {
    if (stop.Reached()) throw Stopped();
    const double share = timer.Next() / static_cast<double>(paths.size());
    for (Path& path : paths) {
      path.result.seconds += share;
      CheckLimits(path);
      if (path.ended) done(path.number, ResultOf(path));
    }
    std::erase_if(paths, [](const Path& path) { return path.ended.has_value(); });
    if (paths.empty()) return;

    states.clear();
    for (const Path& path : paths) {
      states.insert(states.end(), path.state.begin(), path.state.end());
    }
    const ConstRows rows(states.data(), paths.size(), starts.states.row_size());
    expander_.Expand(rows);
    const std::vector<float> values = ValuesOfActions(rows, stop);
    for (std::size_t i = 0; i < paths.size(); ++i) {
      Step(paths[i], i * num_actions, std::span(values).subspan(i * num_actions, num_actions));
    }
  }
}

GreedySearch::Path GreedySearch::Begin(std::size_t number, std::span<const std::uint8_t> start,
                                       float at_most) const {
  Path path{.number = number, .state = {start.begin(), start.end()}, .bound = CostBound(at_most)};
  path.visited.insert(Key(start));
  std::optional<std::vector<Action>> known =
      KnownSolution(domain_, ball_.get(), path.bound, config_.max_length, start);
  if (known) {
    path.result.actions = std::move(*known);
    path.ended = Ended::kSolved;
  }
  return path;
}

void GreedySearch::CheckLimits(Path& path) const {
  if (path.ended) return;
  const DomainSpec& spec = domain_.spec();
  if (std::cmp_greater_equal(path.result.actions.size(), config_.max_length)) {
    path.ended = Ended::kLengthLimit;
  } else if (path.bound.Excludes(path.cost + LeastCost(spec))) {
    path.ended = Ended::kCostLimit;
  } else if (config_.max_seconds > 0 && path.result.seconds >= config_.max_seconds) {
    path.ended = Ended::kTimeLimit;
  } else {
    path.ended = WorkLimitsOf(config_).ExceededBy(path.result.nodes + spec.num_actions(),
                                                  BytesOf(path) + Expander::BytesFor(spec, 1));
  }
}

// The memory of the states on the path.
std::int64_t GreedySearch::BytesOf(const Path& path) const {
  return static_cast<std::int64_t>(path.visited.size()) *
         (domain_.spec().state_size + static_cast<std::int64_t>(sizeof(std::string)));
}

// For each child, the value that it is ranked by: the cost of its action plus its estimate or, with
// a policy, minus the log probability of the action.
std::vector<float> GreedySearch::ValuesOfActions(ConstRows states, const StopSignal& stop) {
  if (q_or_policy_ != nullptr) {
    const std::span<const float> values = evaluator_.EstimateActions(*q_or_policy_, states, stop);
    return {values.begin(), values.end()};
  }
  const std::span<const float> estimates = evaluator_.Estimate(expander_.children(), stop);
  std::vector<float> values(estimates.begin(), estimates.end());
  const auto num_actions = static_cast<std::size_t>(domain_.spec().num_actions());
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] += domain_.spec().action_costs[i % num_actions];
  }
  return values;
}

// Ends the path with the cheapest solution through a child whose cost-to-go is known. Returns
// false if there is none within the limits. The children of the path's state are those of expander_
// from `first` on.
bool GreedySearch::FinishThroughKnown(Path& path, std::size_t first) const {
  const std::vector<float>& costs = domain_.spec().action_costs;
  const std::optional<std::size_t> cheapest = expander_.CheapestKnown(
      first, first + costs.size(),
      [&](std::size_t child) { return path.cost + costs[child - first]; }, path.bound,
      config_.max_length - std::ssize(path.result.actions) - 1);
  if (!cheapest) return false;
  path.result.actions.push_back(static_cast<Action>(*cheapest - first));
  std::ranges::copy(expander_.PathToGoal(*cheapest), std::back_inserter(path.result.actions));
  path.ended = Ended::kSolved;
  return true;
}

// Takes the best action to a state that is not on the path.
void GreedySearch::Step(Path& path, std::size_t first, std::span<const float> values) {
  path.result.nodes +=
      std::ranges::count(expander_.is_left_out().subspan(first, values.size()), std::uint8_t{0});
  ++path.result.expanded;
  if (FinishThroughKnown(path, first)) return;
  std::vector<Action> open;
  for (std::size_t a = 0; a < values.size(); ++a) {
    if (expander_.is_goal()[first + a] != 0) continue;  // a goal that costs too much
    if (path.visited.contains(Key(expander_.children()[first + a]))) continue;
    open.push_back(static_cast<Action>(a));
  }
  const std::optional<Action> best =
      BestAction(open, [&](Action action) { return values[action]; });
  if (!best) {
    path.ended = Ended::kExhausted;
    return;
  }
  const std::span<const std::uint8_t> child = expander_.children()[first + *best];
  path.result.actions.push_back(*best);
  path.cost += domain_.spec().action_costs[*best];
  path.state.assign(child.begin(), child.end());
  path.visited.insert(Key(child));
  if (is_policy_) return;
  const float estimate = values[*best] - domain_.spec().action_costs[*best];
  if (path.result.best && estimate >= path.result.best->estimate) return;
  path.result.best = {.actions = path.result.actions, .cost = path.cost, .estimate = estimate};
}

// The result of a path that has ended.
SearchResult GreedySearch::ResultOf(Path& path) const {
  SearchResult result = std::move(path.result);
  result.ended = *path.ended;
  result.solved = result.ended == Ended::kSolved;
  if (result.solved) {
    result.best.reset();
  } else {
    result.actions.clear();
  }
  result.cost = CostOf(domain_.spec(), result.actions);
  result.stored = static_cast<std::int64_t>(path.visited.size());
  result.bytes = BytesOf(path);
  return result;
}

std::string GreedySearch::Failure(const SearchResult& result) const {
  switch (result.ended) {
    case Ended::kTimeLimit:
      return NotInTime(config_) + "; raise search.max_seconds";
    case Ended::kNodeLimit:
      return NotWithinNodes(config_.max_nodes.value_or(0)) + "; raise search.max_nodes";
    case Ended::kMemoryLimit:
      return NotInMemory(config_) + "; raise search.max_gib";
    case Ended::kCostLimit:
      return fmt::format(
          "greedy search found no solution that costs at most {}; set search.method to beam",
          AllowedCost());
    case Ended::kLengthLimit:
      return fmt::format(
          "greedy search found no solution of at most {} moves; set search.method to beam, or "
          "raise search.max_length",
          config_.max_length);
    case Ended::kSolved:
    case Ended::kExhausted:
      break;
  }
  return fmt::format(
      "greedy search visited every neighbour of a state within {} moves; set search.method to beam",
      result.expanded);
}

}  // namespace tandem
