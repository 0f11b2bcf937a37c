#include "search/astar.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/parallel.h"
#include "base/text.h"
#include "tandem/error.h"

namespace tandem {
namespace {

// Lookups in the node index miss the cache. Prefetching this many children ahead hides the latency.
constexpr std::size_t kPrefetchDistance = 12;

// A batch is at most the number of states expanded before it divided by kGrowth. The states that a
// search with batch 1 would not have expanded then make up about the same share of all states at
// most, and hard puzzles still reach full batches within a hundred steps.
constexpr std::int64_t kGrowth = 10;

// A TBB task for each index. Fine-grained tasks pay off here: either there are many puzzles, or
// each puzzle's step is large.
template <class Work>
void ForEach(std::size_t size, const Work& work) {
  ForRanges(size, 1, [&](std::size_t first, std::size_t count) {
    for (std::size_t i = first; i < first + count; ++i) work(i);
  });
}

// A search that is this close to greedy gains little from a lower weight.
constexpr double kLowWeight = 0.1;

// The number of states that A* may store for one puzzle. 0: no limit.
std::int64_t MostNodes(const SearchConfig& config) {
  return config.max_nodes.value_or(SearchConfig::kAStarNodes);
}

std::string LowerWeight(const SearchConfig& config) {
  if (config.weight <= kLowWeight) return "";
  return fmt::format("lower search.weight ({:g}), or ", config.weight);
}

// Below this batch size, most of a step is the fixed cost of calling the network.
constexpr std::int64_t kSmallBatch = 100;

std::string ToEndInTime(const SearchConfig& config, const SearchResult& result) {
  if (config.batch >= kSmallBatch) return LowerWeight(config) + "raise search.max_seconds";
  return fmt::format(
      "raise search.batch ({}): the search generated only {} nodes per second", config.batch,
      WithThousands(static_cast<long long>(static_cast<double>(result.nodes) / result.seconds)));
}

}  // namespace

AStarTree::AStarTree(const DomainSpec& spec, const SearchConfig& config,
                     std::span<const std::uint8_t> start, float at_most)
    : spec_(spec),
      config_(config),
      max_nodes_(MostNodes(config)),
      weight_(static_cast<float>(config.weight)),
      bound_(at_most),
      nodes_(start.size()) {
  nodes_.Add(start, HashState(start), {.cost = 0, .estimate = 0, .parent = 0, .closed = 0}, 0);
}

void AStarTree::SetSolution(std::vector<Action> actions) {
  SetUpperBound(std::move(actions));
  ended_ = Ended::kSolved;
}

void AStarTree::SetUpperBound(std::vector<Action> actions) {
  const float cost = CostOf(spec_, actions);
  goal_ = {.parent = 0, .rest = std::move(actions), .cost = cost};
}

void AStarTree::SetStartEstimate(float estimate) {
  nodes_[0].estimate = CostToGo(/*is_goal=*/false, estimate);
  Open(0);
}

void AStarTree::Pop() {
  popped_.clear();
  if (ended_) return;
  if (full_) {
    ended_ = Ended::kNodeLimit;
  } else if (config_.max_seconds > 0 && watch_.Seconds() >= config_.max_seconds) {
    ended_ = Ended::kTimeLimit;
  } else {
    ended_ = WorkLimits{.max_bytes = config_.max_bytes()}.ExceededBy(0, BytesAfterStep());
  }
  if (ended_) return;
  const std::size_t batch = CurrentBatch();
  while (popped_.size() < batch && !open_.empty() && CanImprove(open_.least())) {
    const std::uint32_t node = open_.Pop();
    if (nodes_[node].closed != 0) continue;
    nodes_[node].closed = 1;
    popped_.push_back(node);
  }
  expanded_ += std::ssize(popped_);
  if (!popped_.empty()) return;
  if (goal_) {
    ended_ = Ended::kSolved;
  } else {
    ended_ = excluded_ ? Ended::kCostLimit : Ended::kExhausted;
  }
}

std::size_t AStarTree::CurrentBatch() const {
  const auto grown = static_cast<std::size_t>(std::max<std::int64_t>(expanded_ / kGrowth, 1));
  return std::min(grown, static_cast<std::size_t>(config_.batch));
}

// An upper bound on the memory after the next step, in which all children may be new.
std::int64_t AStarTree::BytesAfterStep() const {
  const std::size_t batch = CurrentBatch();
  std::size_t nodes = nodes_.size() + batch * static_cast<std::size_t>(spec_.num_actions());
  if (max_nodes_ > 0) nodes = std::min(nodes, static_cast<std::size_t>(max_nodes_));
  // States that were opened again make the list of open states longer than AStarBytesFor assumes.
  const std::size_t stored = std::max(AStarBytesFor(nodes, spec_), nodes_.bytes() + open_.bytes());
  return static_cast<std::int64_t>(stored) +
         Expander::BytesFor(spec_, static_cast<std::int64_t>(batch));
}

// Whether a node of this value may lead to a better solution than the one found. A goal's own value
// is weight * cost, since its estimate is 0.
bool AStarTree::CanImprove(float value) const { return !goal_ || value < weight_ * goal_->cost; }

void AStarTree::CopyPopped(Rows into) const {
  for (std::size_t i = 0; i < popped_.size(); ++i) {
    std::ranges::copy(nodes_.state(popped_[i]), into[i].begin());
  }
}

void AStarTree::Receive(const Expander& step, std::size_t first) {
  const std::size_t num_actions = spec_.num_actions();
  const std::size_t num_children = popped_.size() * num_actions;
  const std::span<const std::uint64_t> hashes = step.hashes().subspan(first, num_children);
  fresh_.clear();
  first_fresh_ = static_cast<std::uint32_t>(nodes_.size());
  for (std::size_t i = 0; i < num_children; ++i) {
    if (i + kPrefetchDistance < num_children) nodes_.Prefetch(hashes[i + kPrefetchDistance]);
    if (step.is_left_out()[first + i] != 0) continue;
    ++generated_;
    AddChild(step, first + i, popped_[i / num_actions], static_cast<Action>(i % num_actions));
  }
}

void AStarTree::AddChild(const Expander& step, std::size_t child, std::uint32_t parent,
                         Action action) {
  const float cost = nodes_[parent].cost + spec_.action_costs[action];
  if (goal_ && cost >= goal_->cost) return;
  if (bound_.Excludes(cost + step.LeastCostToGo(child))) {
    excluded_ = true;
    return;
  }
  if (const float rest = step.KnownCost(child); !std::isinf(rest)) {
    if (goal_ && cost + rest >= goal_->cost) return;
    goal_ = {.parent = parent, .rest = step.WayHome(child), .cost = cost + rest};
    goal_->rest.insert(goal_->rest.begin(), action);
    return;
  }
  if (goal_ && cost + step.least_unknown_cost() >= goal_->cost) return;
  const std::span<const std::uint8_t> state = step.children()[child];
  const std::uint64_t hash = step.hashes()[child];
  const std::uint32_t known = nodes_.Find(state, hash);
  if (known != NodeTable::kNone) {
    LowerCost(known, parent, action, cost);
  } else if (max_nodes_ != 0 && std::cmp_greater_equal(nodes_.size(), max_nodes_)) {
    full_ = true;
  } else {
    nodes_.Add(state, hash, {.cost = cost, .estimate = 0, .parent = parent, .closed = 0}, action);
    fresh_.push_back(static_cast<std::uint32_t>(child));
  }
}

// Opens a closed node again, because the cheaper path also makes its descendants cheaper.
void AStarTree::LowerCost(std::uint32_t node, std::uint32_t parent, Action action, float cost) {
  NodeTable::Node& known = nodes_[node];
  if (cost >= known.cost) return;
  known.cost = cost;
  known.parent = parent & 0x7FFFFFFFU;
  nodes_.action(node) = action;
  if (node >= first_fresh_) return;  // SetEstimates will open it
  // With weight 0 the order does not depend on costs, but an allowed cost does.
  if (weight_ == 0 && !bound_.is_limited()) return;
  known.closed = 0;
  Open(node);
}

void AStarTree::Open(std::uint32_t node) {
  const float value = ValueOf(nodes_[node]);
  if (CanImprove(value)) open_.Push(value, node);
}

void AStarTree::SetEstimates(std::span<const float> estimates) {
  for (std::size_t i = 0; i < estimates.size(); ++i) {
    const std::uint32_t node = first_fresh_ + static_cast<std::uint32_t>(i);
    nodes_[node].estimate = CostToGo(/*is_goal=*/false, estimates[i]);
    if (nodes_[node].estimate < nodes_[nearest_].estimate) nearest_ = node;
    Open(node);
  }
}

std::vector<Action> AStarTree::PathTo(std::uint32_t node) const {
  std::vector<Action> actions;
  for (; node != 0; node = nodes_[node].parent) actions.push_back(nodes_.action(node));
  std::ranges::reverse(actions);
  return actions;
}

SearchResult AStarTree::Result() const {
  SearchResult result{.solved = goal_.has_value() || *ended_ == Ended::kSolved,
                      .ended = *ended_,
                      .nodes = generated_,
                      .expanded = expanded_,
                      .stored = static_cast<std::int64_t>(nodes_.size()),
                      .bytes = static_cast<std::int64_t>(nodes_.bytes() + open_.bytes()),
                      .seconds = watch_.Seconds()};
  if (goal_) {
    result.actions = PathTo(goal_->parent);
    result.actions.insert(result.actions.end(), goal_->rest.begin(), goal_->rest.end());
    // A cheaper path to the goal's parent may have been found since the goal was.
    result.cost = CostOf(spec_, result.actions);
  } else if (!result.solved) {
    result.best = {.actions = PathTo(nearest_), .estimate = nodes_[nearest_].estimate};
    result.best->cost = CostOf(spec_, result.best->actions);
  }
  return result;
}

AStar::AStar(const Domain& domain, Evaluator& evaluator, const Config& config,
             std::shared_ptr<const GoalBall> ball)
    : domain_(domain),
      config_(config.search),
      ball_(std::move(ball)),
      expander_(domain, evaluator, static_cast<std::size_t>(config.inference.rows_at_once()),
                ball_) {
  if (!(config_.weight >= 0) || std::isinf(static_cast<float>(config_.weight))) {
    throw Error(
        fmt::format("A*: weight is {}; expected a finite number of at least 0", config_.weight));
  }
  if (config_.batch < 1 || config_.instances < 1) {
    throw Error(fmt::format("A*: batch is {} and instances is {}; expected both to be at least 1",
                            config_.batch, config_.instances));
  }
}

void AStar::SolveAll(const Starts& starts, const StopSignal& stop, const Done& done) {
  std::vector<Running> running;
  std::vector<std::uint32_t> to_estimate;
  for (std::size_t next = 0; next < starts.size() || !running.empty();) {
    const std::size_t old = running.size();
    to_estimate.clear();
    while (std::cmp_less(running.size(), config_.instances) && next < starts.size()) {
      running.push_back(
          {.number = next,
           .tree = MakeTree(starts.states[next], starts.AtMost(next, config_.at_most))});
      if (!running.back().tree->ended()) to_estimate.push_back(static_cast<std::uint32_t>(next));
      ++next;
    }
    const std::span<const float> estimates = expander_.Estimate(starts.states, to_estimate, stop);
    for (std::size_t i = old, at = 0; i < running.size(); ++i) {
      if (!running[i].tree->ended()) running[i].tree->SetStartEstimate(estimates[at++]);
    }
    Step(running, stop);
    for (const Running& each : running) {
      if (each.tree->ended()) done(each.number, each.tree->Result());
    }
    std::erase_if(running, [](const Running& each) { return each.tree->ended(); });
  }
}

std::unique_ptr<AStarTree> AStar::MakeTree(std::span<const std::uint8_t> start,
                                           float at_most) const {
  auto tree = std::make_unique<AStarTree>(domain_.spec(), config_, start, at_most);
  const std::optional<float> known = ball_ != nullptr ? ball_->CostOf(start) : std::nullopt;
  if (known && !CostBound(at_most).Excludes(*known)) {
    tree->SetSolution(ball_->WayHome(start));
  } else if (IsGoal(domain_, start)) {
    tree->SetSolution({});
  }
  return tree;
}

void AStar::Step(std::vector<Running>& running, const StopSignal& stop) {
  if (stop.Reached()) throw Stopped();
  ForEach(running.size(), [&](std::size_t i) { running[i].tree->Pop(); });

  const std::size_t state_size = domain_.spec().state_size;
  const std::size_t num_actions = domain_.spec().num_actions();
  std::size_t num_states = 0;
  for (Running& each : running) {
    each.first_state = num_states;
    num_states += each.tree->num_popped();
  }
  states_.resize(num_states * state_size);
  const Rows states(states_.data(), num_states, state_size);
  ForEach(running.size(), [&](std::size_t i) {
    const AStarTree& tree = *running[i].tree;
    tree.CopyPopped(states.Slice(running[i].first_state, tree.num_popped()));
  });
  expander_.Expand(states);
  ForEach(running.size(), [&](std::size_t i) {
    running[i].tree->Receive(expander_, running[i].first_state * num_actions);
  });

  fresh_.clear();
  for (Running& each : running) {
    each.first_fresh = fresh_.size();
    fresh_.insert(fresh_.end(), each.tree->fresh().begin(), each.tree->fresh().end());
  }
  const std::span<const float> estimates = expander_.Estimate(expander_.children(), fresh_, stop);
  ForEach(running.size(), [&](std::size_t i) {
    AStarTree& tree = *running[i].tree;
    tree.SetEstimates(estimates.subspan(running[i].first_fresh, tree.fresh().size()));
  });
}

std::string AStar::Describe() const { return fmt::format("A* with weight {:g}", config_.weight); }

std::string AStar::Failure(const SearchResult& result) const {
  switch (result.ended) {
    case Ended::kNodeLimit:
      return fmt::format("{}; {}raise search.max_nodes", NotWithinNodes(MostNodes(config_)),
                         LowerWeight(config_));
    case Ended::kMemoryLimit:
      return fmt::format("{}; {}raise search.max_gib", NotInMemory(config_), LowerWeight(config_));
    case Ended::kTimeLimit:
      return NotInTime(config_) + "; " + ToEndInTime(config_, result);
    case Ended::kCostLimit:
      return fmt::format("no solution costs at most {}; raise the limit", AllowedCost());
    case Ended::kSolved:
    case Ended::kLengthLimit:
    case Ended::kExhausted:
      break;
  }
  return fmt::format("the puzzle has no solution: none of the {} reachable states is a goal",
                     WithThousands(result.stored));
}

std::string AStarMemory(const SearchConfig& config, const DomainSpec& spec) {
  std::string text = fmt::format("A*: weight {:g}, up to {} states at a time", config.weight,
                                 WithThousands(config.batch));
  if (config.instances > 1) text += fmt::format(" of each of {} puzzles", config.instances);
  if (MostNodes(config) == 0) {
    constexpr std::size_t kMany = 1'000'000;
    return text +
           fmt::format(", {} bytes per node and no limit", AStarBytesFor(kMany, spec) / kMany);
  }
  const auto bytes =
      static_cast<double>(AStarBytesFor(static_cast<std::size_t>(MostNodes(config)), spec));
  return text + fmt::format("; at most {} nodes, which take {}{}", WithThousands(MostNodes(config)),
                            HumanBytes(bytes), config.instances > 1 ? ", for each" : "");
}

std::size_t AStarBytesFor(std::size_t nodes, const DomainSpec& spec) {
  return NodeTable::BytesFor(nodes, static_cast<std::size_t>(spec.state_size)) +
         OpenList::BytesFor(nodes);
}

}  // namespace tandem
