// Iterative deepening A* search over many puzzles.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
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

#include "search/costs.h"
#include "search/evaluation.h"
#include "search/expander.h"
#include "search/goal_ball.h"
#include "search/hash_set.h"
#include "search/loops.h"
#include "search/search.h"

namespace tandem {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kLeastStep = 0.5F;  // in units of the least cost of an action

// An action that remains to be taken from a state on the path, and the value of its child.
struct Remaining {
  float value;
  Action action;
};

// A state on the path.
struct Visited {
  std::vector<std::uint8_t> state;
  std::uint64_t hash;
  Action action;                        // that led to it; of no meaning in the start
  double cost;                          // of the path to it
  std::vector<Remaining> actions = {};  // the best one last
};

// IdaStar is iterative deepening A* (Korf, "Depth-first iterative-deepening: an optimal admissible
// tree search", 1985) guided by a network. Each iteration is a depth-first search of the paths
// whose states all have a value of at most a bound: search.weight times the cost of the path plus
// the estimate, as in AStar. The first bound is the estimate of the start. Its memory is
// proportional to the length of a path. In return, it expands a state again in each iteration and
// on each path that leads to it. No path visits a state twice.
//
// The next bound is the least value above the current one, but at least the value by which an
// action raises a path. A network gives nearly every state a value of its own, so without such a
// step an iteration would add a single state. With it, an iteration allows about one more action,
// and all iterations before it together expand a fraction of its states. With a small weight,
// values hardly depend on the length of a path, so the step is at least half the least cost of an
// action.
//
// An iteration may therefore pass over the least cost, and does not end with the first solution:
// it goes on with the states whose value is below search.weight times the solution's cost. If the
// estimates are never too high, the bounds on a solution's cost are those of AStar. They hold
// among the solutions of at most search.max_length actions.
//
// A state in the ball around the goal counts as a goal whose solution goes on with the path to the
// goal. If that solution would be too long, the search goes on through the state, with its exact
// cost-to-go as its estimate: if costs differ, a dearer way from it may have fewer actions.
//
// All starts advance in lock step (SolveInGroups): each step expands one state of each and
// evaluates all their children together. Each start may take search.max_seconds. Results do not
// depend on which puzzles are solved together, except that the evaluator's rounding may depend on
// its batch.
class IdaStar final : public Search {
 public:
  // Throws Error if the network does not estimate states.
  IdaStar(const Domain& domain, Evaluator& network, const Config& config,
          std::shared_ptr<const GoalBall> ball)
      : domain_(domain),
        config_(config.search),
        weight_(static_cast<float>(config.search.weight)),
        least_step_(std::max(weight_, kLeastStep) * LeastCost(domain.spec())),
        costs_differ_(CostsDiffer(domain.spec())),
        ball_(std::move(ball)),
        expander_(domain, ball_),
        evaluator_(domain, network, RowsPerCall(config)) {
    CheckEstimatesStates("IDA*", network);
  }

  // Searches from a few thousand starts at a time.
  void SolveAll(const ProblemBatch& problems, const StopSignal& stop, const Done& done) override {
    SolveInGroups(
        problems, stop, done, [&](const ProblemBatch& group) { return Begin(group, stop); },
        [&](Puzzle& puzzle) {
          ChooseState(puzzle);
          if (!puzzle.stop_reason) CheckLimits(puzzle);
        },
        [&](std::vector<Puzzle>& puzzles) { ExpandAll(puzzles, stop); },
        [&](Puzzle& puzzle) { return ResultOf(puzzle); });
  }

  std::string Describe() const override {
    return fmt::format("IDA* with weight {:g}", config_.weight);
  }

  std::string_view MainKey() const override { return "search.weight"; }

  std::string Failure(const SearchResult& result) const override {
    // Only the states of one path are in memory, and a lower weight does not shorten paths.
    const std::string advice = result.stop_reason == StopReason::kMemoryLimit
                                   ? ""
                                   : fmt::format("lower search.weight ({:g}), or ", config_.weight);
    std::string at_limit = AtLimit(config_, result.stop_reason, advice);
    if (!at_limit.empty()) return at_limit;
    const std::string_view where =
        result.dropped_states ? " leads only through states with a finite estimate and" : "";
    if (result.stop_reason == StopReason::kCostLimit) {
      return fmt::format("no solution of at most {} moves{} costs at most {}; raise the limit",
                         config_.max_length, where, AllowedCost());
    }
    if (result.stop_reason == StopReason::kLengthLimit) {
      return fmt::format("no solution{} has at most {} moves; raise search.max_length", where,
                         config_.max_length);
    }
    if (result.dropped_states) {
      return "no solution leads only through states with a finite estimate; use another network, "
             "or "
             "set search.method to beam";
    }
    return "the puzzle has no solution: no path that visits no state twice leads to a goal";
  }

 private:
  // The search from one start.
  struct Puzzle {
    // The actions from the start to the last state of the path.
    std::vector<Action> Actions() const {
      std::vector<Action> actions;
      for (std::size_t i = 1; i < path.size(); ++i) actions.push_back(path[i].action);
      return actions;
    }

    bool IsOnPath(std::span<const std::uint8_t> state, std::uint64_t hash) const {
      return std::ranges::any_of(path, [&](const Visited& visited) {
        return visited.hash == hash && std::ranges::equal(visited.state, state);
      });
    }

    std::size_t number;  // index of the start
    std::span<const std::uint8_t> start;
    CostBound allowed;
    float bound = -kInfinity;        // of the current iteration
    float least_above = kInfinity;   // the least value above the bound
    bool too_costly = false;         // a state was dropped because of `allowed`
    bool too_long = false;           // a state was dropped because of search.max_length
    std::vector<Visited> path = {};  // from the start to the state that is expanded next
    SearchResult result = {};        // with the cheapest solution found, if it is solved
    double cost = 0;                 // of that solution
    std::optional<StopReason> stop_reason = std::nullopt;
  };

  std::vector<Puzzle> Begin(const ProblemBatch& problems, const StopSignal& stop) {
    std::vector<Puzzle> puzzles;
    std::vector<std::size_t> to_estimate;
    states_.clear();
    for (std::size_t i = 0; i < problems.size(); ++i) {
      Puzzle& puzzle =
          puzzles.emplace_back(Puzzle{.number = i,
                                      .start = problems.states[i],
                                      .allowed = CostBound(problems.AtMost(i, config_.at_most))});
      std::optional<std::vector<Action>> known =
          KnownSolution(domain_, ball_.get(), puzzle.allowed, config_.max_length, puzzle.start);
      if (known) {
        puzzle.result.actions = std::move(*known);
        puzzle.stop_reason = StopReason::kSolved;
      }
      puzzle.result.solved = puzzle.stop_reason.has_value();
      if (puzzle.stop_reason) continue;
      to_estimate.push_back(i);
      states_.insert(states_.end(), puzzle.start.begin(), puzzle.start.end());
    }
    const std::span<const float> estimates =
        evaluator_.Estimate({states_.data(), to_estimate.size(), problems.states.row_size()}, stop);
    for (std::size_t i = 0; i < estimates.size(); ++i) {
      Puzzle& puzzle = puzzles[to_estimate[i]];
      puzzle.least_above = CostToGo(estimates[i]);
      puzzle.result.best = {.actions = {}, .cost = 0, .estimate = puzzle.least_above};
      puzzle.result.dropped_states = std::isinf(puzzle.least_above);
    }
    return puzzles;
  }

  // Extends the path by the best action that remains to be taken from its last state. If there is
  // none, goes back to the last state that has one.
  void ChooseState(Puzzle& puzzle) const {
    const float limit = puzzle.result.solved ? ValueOf(puzzle.cost) : kInfinity;
    for (; !puzzle.path.empty(); puzzle.path.pop_back()) {
      Visited& last = puzzle.path.back();
      if (last.actions.empty() || last.actions.back().value >= limit) continue;
      const Action action = last.actions.back().action;
      last.actions.pop_back();
      Visited next{.state = last.state,
                   .hash = 0,
                   .action = action,
                   .cost = last.cost + domain_.spec().action_costs[action]};
      ApplyAll(domain_, {&action, 1}, next.state);
      next.hash = HashState(next.state);
      puzzle.path.push_back(std::move(next));
      return;
    }
    BeginIteration(puzzle);
  }

  void BeginIteration(Puzzle& puzzle) const {
    if (puzzle.result.solved) {
      puzzle.stop_reason = StopReason::kSolved;
    } else if (std::isinf(puzzle.least_above)) {
      puzzle.stop_reason = puzzle.too_costly ? StopReason::kCostLimit
                           : puzzle.too_long ? StopReason::kLengthLimit
                                             : StopReason::kExhausted;
    } else {
      puzzle.bound = std::max(puzzle.least_above, puzzle.bound + least_step_);
      puzzle.least_above = kInfinity;
      puzzle.path.push_back({.state = {puzzle.start.begin(), puzzle.start.end()},
                             .hash = HashState(puzzle.start),
                             .action = 0,
                             .cost = 0});
    }
  }

  void CheckLimits(Puzzle& puzzle) const {
    if (config_.max_seconds > 0 && puzzle.result.seconds >= config_.max_seconds) {
      puzzle.stop_reason = StopReason::kTimeLimit;
      return;
    }
    const DomainSpec& spec = domain_.spec();
    puzzle.stop_reason = WorkLimitExceeded(config_, puzzle.result.nodes + spec.num_actions(),
                                           BytesOf(puzzle) + Expander::BytesFor(spec, 1));
  }

  // Expands the last state of each path.
  void ExpandAll(std::vector<Puzzle>& puzzles, const StopSignal& stop) {
    states_.clear();
    for (const Puzzle& puzzle : puzzles) {
      const std::vector<std::uint8_t>& state = puzzle.path.back().state;
      states_.insert(states_.end(), state.begin(), state.end());
    }
    expander_.Expand(
        {states_.data(), puzzles.size(), static_cast<std::size_t>(domain_.spec().state_size)});
    const auto num_actions = static_cast<std::size_t>(domain_.spec().num_actions());
    std::vector<std::uint32_t> chosen;
    std::vector<std::size_t> begins = {0};
    for (std::size_t i = 0; i < puzzles.size(); ++i) {
      ChooseChildren(puzzles[i], i * num_actions, chosen);
      begins.push_back(chosen.size());
    }
    const std::span<const float> estimates =
        evaluator_.Estimate(expander_.Build(chosen, chosen_states_), stop);
    for (std::size_t i = 0; i < puzzles.size(); ++i) {
      const std::size_t count = begins[i + 1] - begins[i];
      Receive(puzzles[i], std::span(chosen).subspan(begins[i], count),
              estimates.subspan(begins[i], count));
    }
  }

  // Appends the children that need estimates to `chosen`. The children of the puzzle's state are
  // those of expander_ from `first` on.
  void ChooseChildren(Puzzle& puzzle, std::size_t first, std::vector<std::uint32_t>& chosen) const {
    const DomainSpec& spec = domain_.spec();
    ++puzzle.result.expanded;
    for (std::size_t a = 0; a < static_cast<std::size_t>(spec.num_actions()); ++a) {
      const std::size_t child = first + a;
      if (expander_.is_left_out()[child] != 0) continue;
      ++puzzle.result.nodes;
      const double least = puzzle.path.back().cost + spec.action_costs[a] +
                           expander_.LeastCostToGo(child);  // of a solution through the child
      if (puzzle.result.solved && least >= puzzle.cost) continue;
      if (puzzle.allowed.Excludes(least)) {
        puzzle.too_costly = true;
      } else if (ReachKnown(puzzle, child, static_cast<Action>(a))) {
        continue;
      } else if (!puzzle.IsOnPath(expander_.children()[child], expander_.hashes()[child])) {
        if (std::cmp_less(puzzle.path.size(), config_.max_length)) {
          chosen.push_back(static_cast<std::uint32_t>(child));
        } else {
          puzzle.too_long = true;
        }
      }
    }
  }

  // Takes the solution through a child whose cost-to-go is known, if its value is within the bound.
  // Requires that it is cheaper than the solution found before. Returns whether that settles the
  // child. If the solution is too long, a dearer one through the child may be short enough.
  bool ReachKnown(Puzzle& puzzle, std::size_t child, Action action) const {
    if (std::isinf(expander_.KnownCost(child))) return false;
    const double cost =
        puzzle.path.back().cost + domain_.spec().action_costs[action] + expander_.KnownCost(child);
    if (ValueOf(cost) > puzzle.bound) {
      puzzle.least_above = std::min(puzzle.least_above, ValueOf(cost));
      return true;
    }
    const std::vector<Action> rest = expander_.PathToGoal(child);
    if (std::cmp_greater(puzzle.path.size() + rest.size(), config_.max_length)) {
      puzzle.too_long = true;
      return !costs_differ_;
    }
    puzzle.result.solved = true;
    puzzle.result.actions = puzzle.Actions();
    puzzle.result.actions.push_back(action);
    puzzle.result.actions.insert(puzzle.result.actions.end(), rest.begin(), rest.end());
    puzzle.cost = cost;
    return true;
  }

  // Notes the estimates of `children`, which ChooseChildren chose.
  void Receive(Puzzle& puzzle, std::span<const std::uint32_t> children,
               std::span<const float> estimates) const {
    const DomainSpec& spec = domain_.spec();
    Visited& last = puzzle.path.back();
    for (std::size_t i = 0; i < children.size(); ++i) {
      const auto action = static_cast<Action>(children[i] % spec.num_actions());
      const float known = expander_.KnownCost(children[i]);
      const float estimate = std::isinf(known) ? CostToGo(estimates[i]) : known;
      if (estimate < puzzle.result.best->estimate) {
        puzzle.result.best = {.actions = puzzle.Actions(), .estimate = estimate};
        puzzle.result.best->actions.push_back(action);
      }
      if (std::isinf(estimate)) {  // no bound allows the child
        puzzle.result.dropped_states = true;
        continue;
      }
      const float value = ValueOf(last.cost + spec.action_costs[action]) + estimate;
      if (value <= puzzle.bound) {
        last.actions.push_back({.value = value, .action = action});
      } else {
        puzzle.least_above = std::min(puzzle.least_above, value);
      }
    }
    // Of equal values, the first action comes last, to be taken first.
    std::ranges::sort(last.actions, [](const Remaining& a, const Remaining& b) {
      return a.value != b.value ? a.value > b.value : a.action > b.action;
    });
  }

  float ValueOf(double cost) const { return weight_ * static_cast<float>(cost); }

  // The memory of the states on the path, and of the actions that remain to be taken from them.
  std::int64_t BytesOf(const Puzzle& puzzle) const {
    const DomainSpec& spec = domain_.spec();
    return std::ssize(puzzle.path) *
           (spec.state_size + spec.num_actions() * std::int64_t{sizeof(Remaining)});
  }

  // The result of a puzzle that has ended.
  SearchResult ResultOf(Puzzle& puzzle) const {
    SearchResult result = std::move(puzzle.result);
    result.stop_reason = *puzzle.stop_reason;
    if (result.solved) result.best.reset();
    if (result.best) result.best->cost = CostOf(domain_.spec(), result.best->actions);
    result.cost = CostOf(domain_.spec(), result.actions);
    result.stored = std::ssize(puzzle.path);
    result.bytes = BytesOf(puzzle);
    return result;
  }

  const Domain& domain_;
  const SearchConfig config_;
  const float weight_;
  const float least_step_;  // from one bound to the next
  const bool costs_differ_;
  const std::shared_ptr<const GoalBall> ball_;  // may be null
  Expander expander_;
  BatchEvaluator evaluator_;
  std::vector<std::uint8_t> states_;  // of the current step, one for each puzzle
  std::vector<std::uint8_t> chosen_states_;
};

}  // namespace

std::unique_ptr<Search> MakeIdaStar(const Domain& domain, Evaluator& network, const Config& config,
                                    std::shared_ptr<const GoalBall> ball) {
  return std::make_unique<IdaStar>(domain, network, config, std::move(ball));
}

}  // namespace tandem
