#include "search/greedy_search.h"

#include <absl/container/flat_hash_set.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "search/costs.h"
#include "search/evaluation.h"
#include "search/expander.h"
#include "search/goal_ball.h"
#include "search/hash_set.h"
#include "search/loops.h"
#include "search/search.h"

namespace tandem {
namespace {

// GreedySearch follows one path from each start. If a child of the current state is a goal, or in
// the ball around the goal, it takes the cheapest such child, whose path to the goal completes the
// solution. Otherwise it steps to the child with the least sum of the action's cost and the
// estimate, but never to a state that is already on the path. It ends if no other child is left,
// after search.max_length actions, or before it would exceed search.max_nodes or search.max_gib.
// All starts advance in lock step (SolveInGroups); each may take search.max_seconds.
//
// With a Q net, it takes the action with the least Q value, and with a policy the most probable
// one. It then evaluates each state of a path instead of its children.
//
// It shows quickly what a network has learned. Validation does not use it, but DescendGreedily,
// which may visit a state twice.
class GreedySearch final : public Search {
 public:
  // Any Evaluator can be the network.
  GreedySearch(const Domain& domain, Evaluator& network, const Config& config,
               std::shared_ptr<const GoalBall> ball)
      : domain_(domain),
        config_(config.search),
        ranking_(RankingOf(network)),
        ball_(std::move(ball)),
        expander_(domain, ball_),
        evaluator_(domain, network, RowsPerCall(config)) {}

  // Searches from a few thousand starts at a time.
  void SolveAll(const ProblemBatch& problems, const StopSignal& stop, const Done& done) override {
    SolveInGroups(
        problems, stop, done, [&](const ProblemBatch& group) { return Begin(group); },
        [&](Path& path) { CheckLimits(path); },
        [&](std::vector<Path>& paths) { StepAll(paths, stop); },
        [&](Path& path) { return ResultOf(path); });
  }

  std::string Describe() const override { return "greedy search"; }
  std::string_view MainKey() const override { return ""; }

  std::string Failure(const SearchResult& result) const override {
    std::string at_limit = AtLimit(config_, result.stop_reason);
    if (!at_limit.empty()) return at_limit;
    if (result.stop_reason == StopReason::kCostLimit) {
      return fmt::format(
          "greedy search found no solution that costs at most {}; set search.method to beam",
          AllowedCost());
    }
    if (result.stop_reason == StopReason::kLengthLimit) {
      return fmt::format(
          "greedy search found no solution of at most {} moves; set search.method to beam, or "
          "raise search.max_length",
          config_.max_length);
    }
    return fmt::format(
        "greedy search visited every neighbour of a state within {} moves; set search.method to "
        "beam",
        result.expanded);
  }

 private:
  // The path from one start so far.
  struct Path {
    std::size_t number;  // index of the start
    std::vector<std::uint8_t> state;
    CostBound bound;
    absl::flat_hash_set<std::string> visited = {};
    SearchResult result = {};
    double cost = 0;
    std::optional<StopReason> stop_reason = std::nullopt;
  };

  std::vector<Path> Begin(const ProblemBatch& problems) const {
    std::vector<Path> paths;
    paths.reserve(problems.size());
    for (std::size_t i = 0; i < problems.size(); ++i) {
      const std::span<const std::uint8_t> start = problems.states[i];
      Path& path =
          paths.emplace_back(Path{.number = i,
                                  .state = {start.begin(), start.end()},
                                  .bound = CostBound(problems.AtMost(i, config_.at_most))});
      path.visited.emplace(KeyOf(start));
      std::optional<std::vector<Action>> known =
          KnownSolution(domain_, ball_.get(), path.bound, config_.max_length, start);
      if (!known) continue;
      path.result.actions = std::move(*known);
      path.stop_reason = StopReason::kSolved;
    }
    return paths;
  }

  void CheckLimits(Path& path) const {
    const DomainSpec& spec = domain_.spec();
    if (std::cmp_greater_equal(path.result.actions.size(), config_.max_length)) {
      path.stop_reason = StopReason::kLengthLimit;
    } else if (path.bound.Excludes(path.cost + LeastCost(spec))) {
      path.stop_reason = StopReason::kCostLimit;
    } else if (config_.max_seconds > 0 && path.result.seconds >= config_.max_seconds) {
      path.stop_reason = StopReason::kTimeLimit;
    } else {
      path.stop_reason = WorkLimitExceeded(config_, path.result.nodes + spec.num_actions(),
                                           BytesOf(path) + Expander::BytesFor(spec, 1));
    }
  }

  // The memory of the states on the path.
  std::int64_t BytesOf(const Path& path) const {
    return static_cast<std::int64_t>(path.visited.size()) *
           (domain_.spec().state_size + static_cast<std::int64_t>(sizeof(std::string)));
  }

  void StepAll(std::vector<Path>& paths, const StopSignal& stop) {
    states_.clear();
    for (const Path& path : paths) {
      states_.insert(states_.end(), path.state.begin(), path.state.end());
    }
    const ConstRows states(states_.data(), paths.size(), paths.front().state.size());
    expander_.Expand(states);
    const std::vector<float> values =
        evaluator_.ValuesOfChildren(ranking_, states, expander_, stop);
    const auto num_actions = static_cast<std::size_t>(domain_.spec().num_actions());
    for (std::size_t i = 0; i < paths.size(); ++i) {
      Step(paths[i], i * num_actions, std::span(values).subspan(i * num_actions, num_actions));
    }
  }

  // Ends the path with the cheapest solution through a child whose cost-to-go is known. Returns
  // false if there is none within the limits. The path's children are those of expander_ from
  // `first` on.
  bool FinishThroughKnown(Path& path, std::size_t first) const {
    const std::vector<float>& costs = domain_.spec().action_costs;
    const std::optional<std::size_t> cheapest = expander_.CheapestKnown(
        first, first + costs.size(),
        [&](std::size_t child) { return path.cost + costs[child - first]; }, path.bound,
        config_.max_length - std::ssize(path.result.actions) - 1);
    if (!cheapest) return false;
    path.result.actions.push_back(static_cast<Action>(*cheapest - first));
    std::ranges::copy(expander_.PathToGoal(*cheapest), std::back_inserter(path.result.actions));
    path.stop_reason = StopReason::kSolved;
    return true;
  }

  // Takes the best action to a state that is not on the path.
  void Step(Path& path, std::size_t first, std::span<const float> values) {
    path.result.nodes +=
        std::ranges::count(expander_.is_left_out().subspan(first, values.size()), std::uint8_t{0});
    ++path.result.expanded;
    if (FinishThroughKnown(path, first)) return;
    std::vector<Action> open;
    for (std::size_t a = 0; a < values.size(); ++a) {
      if (expander_.is_goal()[first + a] != 0) continue;  // a goal that costs too much
      if (path.visited.contains(KeyOf(expander_.children()[first + a]))) continue;
      open.push_back(static_cast<Action>(a));
    }
    const std::optional<Action> best = BestBy(ranking_, domain_.spec(), open, values);
    if (!best) {
      path.stop_reason = StopReason::kExhausted;
      return;
    }
    const std::span<const std::uint8_t> child = expander_.children()[first + *best];
    path.result.actions.push_back(*best);
    path.cost += domain_.spec().action_costs[*best];
    path.state.assign(child.begin(), child.end());
    path.visited.emplace(KeyOf(child));
    if (ranking_ == Ranking::kByPolicy) return;
    const float estimate =
        values[*best] - (ranking_ == Ranking::kByStates ? 0 : domain_.spec().action_costs[*best]);
    if (path.result.best && estimate >= path.result.best->estimate) return;
    path.result.best = {.actions = path.result.actions, .estimate = estimate};
  }

  // The result of a path that has ended.
  SearchResult ResultOf(Path& path) const {
    SearchResult result = std::move(path.result);
    result.stop_reason = *path.stop_reason;
    result.solved = result.stop_reason == StopReason::kSolved;
    if (result.solved) {
      result.best.reset();
    } else {
      result.actions.clear();
      if (result.best) result.best->cost = CostOf(domain_.spec(), result.best->actions);
    }
    result.cost = CostOf(domain_.spec(), result.actions);
    result.stored = static_cast<std::int64_t>(path.visited.size());
    result.bytes = BytesOf(path);
    return result;
  }

  const Domain& domain_;
  const SearchConfig config_;
  const Ranking ranking_;
  const std::shared_ptr<const GoalBall> ball_;  // may be null
  Expander expander_;
  BatchEvaluator evaluator_;
  std::vector<std::uint8_t> states_;  // of the current step, one for each path
};

}  // namespace

std::unique_ptr<Search> MakeGreedySearch(const Domain& domain, Evaluator& network,
                                         const Config& config,
                                         std::shared_ptr<const GoalBall> ball) {
  return std::make_unique<GreedySearch>(domain, network, config, std::move(ball));
}

std::vector<std::optional<std::int64_t>> DescendGreedily(const Domain& domain, Evaluator& network,
                                                         std::size_t rows_per_call,
                                                         ConstRows starts,
                                                         std::span<const std::int64_t> most_actions,
                                                         const StopSignal& stop) {
  const Ranking ranking = RankingOf(network);
  BatchEvaluator evaluator(domain, network, rows_per_call);
  Expander expander(domain);
  const auto num_actions = static_cast<std::size_t>(domain.spec().num_actions());
  std::vector<std::optional<std::int64_t>> taken(starts.size());
  std::vector<std::uint8_t> is_goal(starts.size());
  domain.IsGoal(starts, is_goal);

  // The descents that have not reached a goal yet: the index of each one's start, and its state.
  std::vector<std::size_t> open;
  std::vector<std::uint8_t> bytes;
  for (std::size_t i = 0; i < starts.size(); ++i) {
    if (is_goal[i] != 0) taken[i] = 0;
    if (is_goal[i] != 0 || most_actions[i] <= 0) continue;
    open.push_back(i);
    bytes.insert(bytes.end(), starts[i].begin(), starts[i].end());
  }
  for (std::int64_t step = 1; !open.empty(); ++step) {
    const ConstRows states(bytes.data(), open.size(), starts.row_size());
    expander.Expand(states);
    const std::vector<float> values = evaluator.ValuesOfChildren(ranking, states, expander, stop);
    const std::vector<std::size_t> before = std::exchange(open, {});
    bytes.clear();
    for (std::size_t i = 0; i < before.size(); ++i) {
      const std::size_t first = i * num_actions;
      const auto goals = expander.is_goal().subspan(first, num_actions);
      if (std::ranges::any_of(goals, [](std::uint8_t goal) { return goal != 0; })) {
        taken[before[i]] = step;
        continue;
      }
      const std::optional<Action> action = BestBy(ranking, domain.spec(), expander.UsefulActions(i),
                                                  std::span(values).subspan(first, num_actions));
      if (!action || step >= most_actions[before[i]]) continue;
      const std::span<const std::uint8_t> child = expander.children()[first + *action];
      open.push_back(before[i]);
      bytes.insert(bytes.end(), child.begin(), child.end());
    }
  }
  return taken;
}

Hint HintFor(const Domain& domain, Evaluator& network, std::span<const std::uint8_t> state) {
  if (IsGoal(domain, state)) return {};
  const DomainSpec& spec = domain.spec();
  const Ranking ranking = RankingOf(network);
  BatchEvaluator evaluator(domain, network);
  Expander expander(domain);
  expander.Expand(ConstRows(state));
  std::vector<float> values =
      evaluator.ValuesOfChildren(ranking, ConstRows(state), expander, StopSignal());
  const std::vector<Action> actions = expander.UsefulActions(0);
  if (ranking == Ranking::kByPolicy) {
    Hint hint{.action = BestBy(ranking, spec, actions, values)};
    if (hint.action) hint.probability = std::exp(-values[*hint.action]);
    return hint;
  }
  for (std::size_t a = 0; a < values.size(); ++a) {
    if (ranking == Ranking::kByActions) values[a] -= spec.action_costs[a];
    values[a] = expander.is_goal()[a] != 0 ? 0 : CostToGo(values[a]);
  }
  Hint hint{.estimate = std::numeric_limits<float>::infinity(),
            .action = BestBy(Ranking::kByStates, spec, actions, values)};
  if (hint.action) {
    hint.rest = values[*hint.action];
    hint.estimate = spec.action_costs[*hint.action] + hint.rest;
  }
  if (ranking == Ranking::kByStates) {
    hint.estimate = CostToGo(evaluator.Estimate(ConstRows(state), StopSignal())[0]);
  }
  return hint;
}

}  // namespace tandem
