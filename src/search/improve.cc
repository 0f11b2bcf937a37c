#include "search/improve.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <numeric>

#include "base/stopwatch.h"
#include "base/text.h"
#include "search/astar.h"
#include "tandem/error.h"
#include "tandem/permutation.h"

namespace tandem {
namespace {

constexpr std::int64_t kMostNodes = 1 << 20;                   // of the search for one window
constexpr std::size_t kMostBallBytes = std::size_t{64} << 20;  // of a ball around a window's end
constexpr std::int64_t kStatesAtOnce = 4096;

// The number of moves that together cost about `cost`.
std::size_t MovesFor(const DomainSpec& spec, float cost) {
  const float sum = std::accumulate(spec.action_costs.begin(), spec.action_costs.end(), 0.0F);
  const float moves = cost * static_cast<float>(spec.num_actions()) / sum;
  return static_cast<std::size_t>(std::clamp(moves, 2.0F, 1e6F));
}

}  // namespace

struct SolutionImprover::Clock {
  double Remaining() const { return seconds - watch.Seconds(); }
  bool Ended() const { return Remaining() <= 0 || stop.Reached(); }

  const double seconds;
  const StopSignal& stop;
  const Stopwatch watch = {};
};

SolutionImprover::SolutionImprover(const Domain& domain, std::shared_ptr<const GoalBall> ball)
    : domain_(domain),
      ball_(std::move(ball)),
      permutes_(dynamic_cast<const PermutationDomain*>(&domain) != nullptr),
      goal_(static_cast<std::size_t>(domain.spec().state_size)),
      expander_(domain, no_network_, kStatesAtOnce, ball_) {
  domain_.WriteGoals(Rows(std::span(goal_)));
}

std::vector<Action> SolutionImprover::Improve(std::span<const std::uint8_t> start,
                                              std::vector<Action> actions, double seconds,
                                              const StopSignal& stop) {
  const Clock clock{.seconds = seconds, .stop = stop};
  bool exact = true;
  for (std::size_t length = MovesFor(domain_.spec(), 2 * ball_->radius()); exact; ++length) {
    length = std::min(length, actions.size());
    State from(start.begin(), start.end());  // the state before action i
    for (std::size_t i = 0; i + length <= actions.size() && !clock.Ended();) {
      const std::span<const Action> window = std::span(actions).subspan(i, length);
      State to = from;
      Apply(to, window);
      Found found = CheaperWindow(from, to, window, clock);
      exact = exact && found.exact;
      if (!found.cheaper) {
        Apply(from, window.first(std::min<std::size_t>(1, length)));
        ++i;
        if (length == 0) break;
        continue;
      }
      const auto at = actions.begin() + static_cast<std::ptrdiff_t>(i);
      actions.erase(at, at + static_cast<std::ptrdiff_t>(length));
      actions.insert(actions.begin() + static_cast<std::ptrdiff_t>(i), found.cheaper->begin(),
                     found.cheaper->end());
      // The windows that overlap with the new actions are new too.
      i = i + 1 > length ? i + 1 - length : 0;
      from.assign(start.begin(), start.end());
      Apply(from, std::span(actions).first(i));
      length = std::min(length, actions.size());
    }
    if (length >= actions.size() || clock.Ended()) break;
  }
  return actions;
}

SolutionImprover::Found SolutionImprover::CheaperWindow(const State& from, const State& to,
                                                        std::span<const Action> window,
                                                        const Clock& clock) {
  if (to == goal_) return Search(from, window, *ball_, expander_, clock);
  if (permutes_) {
    Found found = CheaperAtGoal(window, clock);
    if (!found.cheaper || Leads(from, *found.cheaper, to)) return found;
  }
  return CheaperAround(from, to, window, clock);
}

// Moves the window to the goal: it leads to the goal from the state before its inverse.
SolutionImprover::Found SolutionImprover::CheaperAtGoal(std::span<const Action> window,
                                                        const Clock& clock) {
  State from = goal_;
  for (std::size_t i = window.size(); i-- > 0;) {
    Apply(from, {&domain_.spec().inverse_actions[window[i]], 1});
  }
  return Search(from, window, *ball_, expander_, clock);
}

SolutionImprover::Found SolutionImprover::CheaperAround(const State& from, const State& to,
                                                        std::span<const Action> window,
                                                        const Clock& clock) {
  const float cost = CostOf(domain_.spec(), window);
  const auto around = std::make_shared<const GoalBall>(domain_, to, cost / 2, kMostBallBytes);
  Expander expander(domain_, no_network_, kStatesAtOnce, around);
  Found found = Search(from, window, *around, expander, clock);
  if (found.cheaper && !Leads(from, *found.cheaper, to)) {
    throw Error(domain_.spec().name +
                ": a way that the ball of states gave does not lead to its center: the puzzle's "
                "inverse actions do not undo its actions. Check it with `tandem check-domain`.");
  }
  return found;
}

// Looks for a way from `from` to the center of `ball` that costs less than `window`, which is one.
// Every state outside the ball gets the same estimate, which is never too high, so A* with weight 1
// finds a cheapest way.
SolutionImprover::Found SolutionImprover::Search(const State& from, std::span<const Action> window,
                                                 const GoalBall& ball, Expander& expander,
                                                 const Clock& clock) {
  const float cost = CostOf(domain_.spec(), window);
  if (const std::optional<float> known = ball.CostOf(from)) {
    if (*known >= cost) return {};
    std::vector<Action> way = ball.WayHome(from);
    if (CostOf(domain_.spec(), way) >= cost) return {};  // equal up to rounding
    return {.cheaper = std::move(way)};
  }
  const SearchConfig config{.weight = 1,
                            .batch = kStatesAtOnce,
                            .max_nodes = kMostNodes,
                            .max_seconds = std::max(clock.Remaining(), 1e-9)};
  AStarTree tree(domain_.spec(), config, from);
  tree.SetUpperBound({window.begin(), window.end()});
  tree.SetStartEstimate(ball.least_cost_outside());
  while (!clock.stop.Reached()) {
    tree.Pop();
    if (tree.ended()) break;
    popped_.resize(tree.num_popped() * from.size());
    const Rows states(popped_.data(), tree.num_popped(), from.size());
    tree.CopyPopped(states);
    expander.Expand(states);
    tree.Receive(expander, 0);
    estimates_.assign(tree.fresh().size(), ball.least_cost_outside());
    tree.SetEstimates(estimates_);
  }
  if (!tree.ended()) return {.exact = false};
  SearchResult result = tree.Result();
  Found found{.exact = result.ended == Ended::kSolved};
  if (result.cost < cost) found.cheaper = std::move(result.actions);
  return found;
}

void SolutionImprover::Apply(State& state, std::span<const Action> actions) const {
  for (const Action& action : actions) domain_.Apply(Rows(std::span(state)), {&action, 1});
}

bool SolutionImprover::Leads(State from, std::span<const Action> actions, const State& to) const {
  Apply(from, actions);
  return from == to;
}

ImprovingSearch::ImprovingSearch(const Domain& domain, std::unique_ptr<Search> search,
                                 std::shared_ptr<const GoalBall> ball, const SearchConfig& config)
    : domain_(domain),
      search_(std::move(search)),
      config_(config),
      improver_(domain, std::move(ball)) {}

std::string ImprovingSearch::Describe() const {
  return fmt::format("{}, with solutions shortened for up to {}", search_->Describe(),
                     HumanSeconds(config_.improve_seconds));
}

void ImprovingSearch::SolveAll(const Starts& starts, const StopSignal& stop, const Done& done) {
  const auto at_once = static_cast<std::size_t>(config_.instances);
  for (std::size_t first = 0; first < starts.size(); first += at_once) {
    std::vector<std::pair<std::size_t, SearchResult>> results;
    std::exception_ptr failure;  // or a stop; what was solved until then is reported
    try {
      search_->SolveAll(starts.Slice(first, std::min(at_once, starts.size() - first)), stop,
                        [&](std::size_t number, SearchResult result) {
                          results.emplace_back(first + number, std::move(result));
                        });
    } catch (...) {
      failure = std::current_exception();
    }
    for (auto& [number, result] : results) {
      if (!result.solved && !starts.solutions.empty() && !starts.solutions[number].empty()) {
        result.solved = true;
        result.ended = Ended::kSolved;
        result.actions = starts.solutions[number];
        result.best.reset();
      }
      if (result.solved) {
        const Stopwatch watch;
        result.found_length = result.actions.size();
        result.actions = improver_.Improve(starts.states[number], std::move(result.actions),
                                           config_.improve_seconds, stop);
        result.cost = CostOf(domain_.spec(), result.actions);
        result.seconds += watch.Seconds();
      }
      done(number, std::move(result));
    }
    if (failure) std::rethrow_exception(failure);
  }
}

}  // namespace tandem
