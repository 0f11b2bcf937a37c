#include "search/solution_improver.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "domain/goal.h"
#include "search/astar.h"
#include "search/search.h"
#include "tandem/error.h"
#include "tandem/permutation.h"

namespace tandem {
namespace {

constexpr std::size_t kMostBallBytes = std::size_t{64} << 20;  // of a ball around a window's end
constexpr std::int64_t kStatesAtOnce = 4096;
constexpr std::int64_t kWidest = 1 << 28;  // of beams, as of search.beam_width

// The number of moves that together cost about `cost`.
std::size_t MovesFor(const DomainSpec& spec, float cost) {
  const float sum = std::accumulate(spec.action_costs.begin(), spec.action_costs.end(), 0.0F);
  const float moves = cost * static_cast<float>(spec.num_actions()) / sum;
  return static_cast<std::size_t>(std::clamp(moves, 2.0F, 1e6F));
}

// Whether a sequence of actions costs less than another one. The sums are exact as long as they are
// less than 2^28 times the least cost, so no window is replaced because its costs, added in another
// order, are rounded to less. Such windows could replace each other for ever.
bool IsCheaper(const DomainSpec& spec, std::span<const Action> way, std::span<const Action> than) {
  const auto exact_cost = [&](std::span<const Action> actions) {
    double cost = 0;
    for (const Action action : actions) cost += spec.action_costs[action];
    return cost;
  };
  return exact_cost(way) < exact_cost(than);
}

}  // namespace

SolutionImprover::SolutionImprover(const Domain& domain, std::shared_ptr<const GoalBall> ball,
                                   std::unique_ptr<PathBeams> beams, std::int64_t first_width,
                                   std::int64_t most_nodes)
    : domain_(domain),
      ball_(std::move(ball)),
      beams_(std::move(beams)),
      first_width_(std::min(first_width, kWidest)),
      most_nodes_(most_nodes),
      permutes_(dynamic_cast<const PermutationDomain*>(&domain) != nullptr),
      goal_(GoalOf(domain)),
      expander_(domain, ball_) {}

SolutionImprover::Improved SolutionImprover::Improve(std::span<const std::uint8_t> start,
                                                     std::vector<Action> actions, double seconds,
                                                     const StopSignal& outer,
                                                     std::int64_t max_nodes,
                                                     std::int64_t max_length) {
  const StopSignal stop(&outer, seconds);
  settled_.clear();
  generated_ = 0;
  max_nodes_ = max_nodes;
  max_length_ = max_length;
  Shorten(start, actions, stop);
  return {.actions = std::move(actions), .nodes = generated_};
}

bool SolutionImprover::Ends(const StopSignal& stop) const {
  return stop.Reached() || (max_nodes_ > 0 && generated_ >= max_nodes_);
}

// 0: no limit.
std::int64_t SolutionImprover::NodesLeft() const {
  return max_nodes_ > 0 ? std::max<std::int64_t>(max_nodes_ - generated_, 1) : 0;
}

// The memory of a ball around a window's end. The states that it holds have about as many children
// as there are nodes left.
std::size_t SolutionImprover::MostBallBytes() const {
  const std::int64_t left = NodesLeft();
  if (left == 0) return kMostBallBytes;
  const auto states = static_cast<std::size_t>(left / domain_.spec().num_actions() + 1);
  return std::min(kMostBallBytes, NodeTable::BytesFor(states, goal_.size()));
}

// Works on windows first and after each part that a beam has shortened.
void SolutionImprover::Shorten(std::span<const std::uint8_t> start, std::vector<Action>& actions,
                               const StopSignal& stop) {
  std::int64_t width = first_width_;
  for (;;) {
    if (ball_ != nullptr && ImproveWindows(start, actions, stop)) return;
    if (beams_ == nullptr) return;
    for (bool shortened = false; !shortened;) {
      if (Ends(stop)) return;
      const PathBeams::Pass pass =
          beams_->Shorten(start, actions, width, stop, NodesLeft(), max_length_);
      generated_ += pass.nodes;
      shortened = pass.shortened;
      if (shortened) continue;
      if (!pass.wider_may_help || width == kWidest) return;
      width = std::min(2 * width, kWidest);
    }
  }
}

// Replaces windows until no longer ones can be settled. Returns whether `actions` is now known to
// be a cheapest solution.
bool SolutionImprover::ImproveWindows(std::span<const std::uint8_t> start,
                                      std::vector<Action>& actions, const StopSignal& stop) {
  for (std::size_t length = MovesFor(domain_.spec(), 2 * ball_->radius());; ++length) {
    if (actions.empty()) return true;
    const bool is_whole = length >= actions.size();
    const bool exact = ImproveWindowsOf(length, start, actions, stop);
    if (Ends(stop)) return false;
    if (is_whole || !exact) return exact;
  }
}

// Replaces windows of `length` actions, or of all actions if there are fewer. Returns whether all
// searches were exact. A search is not exact if the cheapest way makes the solution too long,
// because a shorter way may also be cheaper than the window.
bool SolutionImprover::ImproveWindowsOf(std::size_t length, std::span<const std::uint8_t> start,
                                        std::vector<Action>& actions, const StopSignal& stop) {
  bool exact = true;
  State from(start.begin(), start.end());  // the state before action i
  for (std::size_t i = 0; i < actions.size() && !Ends(stop);) {
    const std::size_t size = std::min(length, actions.size());
    if (i + size > actions.size()) break;
    const std::span<const Action> window = std::span(actions).subspan(i, size);
    State to = from;
    ApplyAll(domain_, window, to);
    const Found found = CheaperUnlessSettled(from, to, window, stop);
    const bool too_long =
        found.cheaper &&
        std::cmp_greater(found.cheaper->size(), MaxPartLength(actions.size(), size, max_length_));
    exact = exact && found.exact && !too_long;
    if (!found.cheaper || too_long) {
      ApplyAll(domain_, window.first(1), from);
      ++i;
      continue;
    }
    const auto at = actions.begin() + static_cast<std::ptrdiff_t>(i);
    const auto after = actions.erase(at, at + static_cast<std::ptrdiff_t>(size));
    actions.insert(after, found.cheaper->begin(), found.cheaper->end());
    // The windows that overlap with the new actions are new too.
    i = i + 1 > size ? i + 1 - size : 0;
    from.assign(start.begin(), start.end());
    ApplyAll(domain_, std::span(actions).first(i), from);
  }
  return exact;
}

SolutionImprover::Found SolutionImprover::CheaperUnlessSettled(const State& from, const State& to,
                                                               std::span<const Action> window,
                                                               const StopSignal& stop) {
  std::pair<State, std::vector<Action>> key(from, {window.begin(), window.end()});
  const auto settled = settled_.find(key);
  if (settled != settled_.end()) return {.exact = settled->second};
  Found found = CheaperWindow(from, to, window, stop);
  if (!found.cheaper) settled_.emplace(std::move(key), found.exact);
  return found;
}

SolutionImprover::Found SolutionImprover::CheaperWindow(const State& from, const State& to,
                                                        std::span<const Action> window,
                                                        const StopSignal& stop) {
  if (to == goal_) return Search(from, window, *ball_, expander_, stop);
  if (permutes_) {
    Found found = CheaperAtGoal(window, stop);
    if (!found.cheaper || Leads(from, *found.cheaper, to)) return found;
  }
  return CheaperAround(from, to, window, stop);
}

// Moves the window to the goal: it leads to the goal from the state before its inverse.
SolutionImprover::Found SolutionImprover::CheaperAtGoal(std::span<const Action> window,
                                                        const StopSignal& stop) {
  State from = goal_;
  UndoAll(domain_, window, from);
  return Search(from, window, *ball_, expander_, stop);
}

SolutionImprover::Found SolutionImprover::CheaperAround(const State& from, const State& to,
                                                        std::span<const Action> window,
                                                        const StopSignal& stop) {
  const float cost = CostOf(domain_.spec(), window);
  const auto around =
      std::make_shared<const GoalBall>(domain_, to, cost / 2, MostBallBytes(), &stop);
  generated_ += around->generated();
  if (around->stopped()) return {.exact = false};
  Expander expander(domain_, around);
  Found found = Search(from, window, *around, expander, stop);
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
                                                 const StopSignal& stop) {
  if (ball.CostOf(from)) {
    std::vector<Action> way = ball.PathToGoal(from);
    if (!IsCheaper(domain_.spec(), way, window)) return {};
    return {.cheaper = std::move(way)};
  }
  const std::int64_t left = NodesLeft();
  const SearchConfig config{.weight = 1,
                            .batch = kStatesAtOnce,
                            .max_nodes = left > 0 ? std::min(left, most_nodes_) : most_nodes_};
  AStarTree tree(domain_.spec(), config, from);
  tree.SetUpperBound({window.begin(), window.end()});
  tree.SetStartEstimate(ball.least_cost_outside());
  for (;;) {
    if (stop.Reached()) tree.Stop();
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
  SearchResult result = tree.Result();
  generated_ += result.nodes;
  Found found{.exact = result.stop_reason == StopReason::kSolved};
  if (IsCheaper(domain_.spec(), result.actions, window)) found.cheaper = std::move(result.actions);
  return found;
}

bool SolutionImprover::Leads(State from, std::span<const Action> actions, const State& to) const {
  ApplyAll(domain_, actions, from);
  return from == to;
}

}  // namespace tandem
