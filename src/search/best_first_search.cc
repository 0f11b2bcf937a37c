#include "search/best_first_search.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "base/parallel.h"
#include "base/stopwatch.h"
#include "base/text.h"
#include "search/hash_set.h"
#include "tandem/error.h"

namespace tandem {
namespace {

// Look-ups miss the cache. Prefetching this many children ahead hides the latency.
constexpr std::size_t kPrefetchDistance = 12;

// A search that is this close to greedy gains little from a lower weight.
constexpr double kLowWeight = 0.1;

// Below this batch size, most of a step is the fixed cost of calling the network.
constexpr std::int64_t kSmallBatch = 100;

// The number of states that a search may store for one puzzle. 0: no limit.
std::int64_t MostStored(const SearchConfig& config) {
  return config.max_nodes.value_or(SearchConfig::kAStarNodes);
}

// The number of nodes that entries can name, or fewer if the config says so.
std::int64_t MostNodes(OpenEntry entry, const DomainSpec& spec, const SearchConfig& config) {
  const std::int64_t most =
      entry == OpenEntry::kState
          ? static_cast<std::int64_t>(NodeTable::kMostNodes)
          : std::int64_t{std::numeric_limits<std::uint32_t>::max()} / spec.num_actions();
  return MostStored(config) > 0 ? std::min(MostStored(config), most) : most;
}

std::string LowerWeight(const SearchConfig& config) {
  if (config.weight <= kLowWeight) return "";
  return fmt::format("lower search.weight ({:g}), or ", config.weight);
}

}  // namespace

BestFirstTree::BestFirstTree(OpenEntry entry, const DomainSpec& spec, const SearchConfig& config,
                             std::span<const std::uint8_t> start, float at_most)
    : spec_(spec),
      config_(config),
      opens_states_(entry == OpenEntry::kState),
      num_actions_(static_cast<std::uint32_t>(spec.num_actions())),
      weight_(static_cast<float>(config.weight)),
      max_nodes_(MostNodes(entry, spec, config)),
      bound_(at_most),
      nodes_(start.size()) {
  nodes_.Add(start, HashState(start), {.cost = 0, .estimate = 0, .parent = 0, .flag = 0}, 0);
}

void BestFirstTree::SetSolution(std::vector<Action> actions) {
  const float cost = CostOf(spec_, actions);
  goal_ = {.parent = 0, .rest = std::move(actions), .to_known = 0, .known = cost};
  stop_reason_ = StopReason::kSolved;
}

void BestFirstTree::Pop() {
  popped_.clear();
  if (ended()) return;
  const std::size_t most = std::min(static_cast<std::size_t>(config_.batch), open_.size());
  CheckLimits(most);
  if (ended()) return;
  while (popped_.size() < most && !open_.empty() && CanImprove(open_.least())) {
    const std::uint32_t entry = open_.Pop();
    if (opens_states_ && IsClosed(entry)) continue;
    if (opens_states_) SetFlag(entry, true);
    popped_.push_back(entry);
  }
  expanded_ += std::ssize(popped_);
  if (!popped_.empty()) return;
  stop_reason_ = goal_       ? StopReason::kSolved
                 : excluded_ ? StopReason::kCostLimit
                             : StopReason::kExhausted;
}

// Ends the search if a limit is reached, at the latest by a step that takes `entries` entries.
void BestFirstTree::CheckLimits(std::size_t entries) {
  if (full_) {
    stop_reason_ = StopReason::kNodeLimit;
    return;
  }
  if (config_.max_seconds > 0 && seconds_ >= config_.max_seconds) {
    stop_reason_ = StopReason::kTimeLimit;
    return;
  }
  const std::size_t children = opens_states_ ? entries * num_actions_ : entries;
  const std::size_t nodes =
      std::min(nodes_.size() + children, static_cast<std::size_t>(max_nodes_));
  const std::size_t stored =
      std::max(NodeTable::BytesFor(nodes, static_cast<std::size_t>(spec_.state_size)),
               nodes_.bytes()) +
      std::max(OpenList::BytesFor(open_.size() + entries * num_actions_), open_.bytes());
  const std::int64_t bytes = static_cast<std::int64_t>(stored) +
                             Expander::BytesFor(spec_, static_cast<std::int64_t>(entries));
  stop_reason_ = WorkLimitExceeded(config_, /*nodes=*/0, bytes);
}

void BestFirstTree::CopyPopped(Rows states, std::span<Action> actions) const {
  for (std::size_t i = 0; i < popped_.size(); ++i) {
    const std::uint32_t node = opens_states_ ? popped_[i] : popped_[i] / num_actions_;
    std::ranges::copy(nodes_.state(node), states[i].begin());
    if (!opens_states_) actions[i] = static_cast<Action>(popped_[i] % num_actions_);
  }
}

// If a cheaper path to a known state was found, its descendants become cheaper too. An open list of
// states takes the state again; open actions need its values, which are not kept. If costs do not
// matter, the order would not change.
void BestFirstTree::Receive(const Expander& step, std::size_t first) {
  const std::size_t children_of_entry = opens_states_ ? num_actions_ : 1;
  const std::size_t num_children = popped_.size() * children_of_entry;
  const std::span<const std::uint64_t> hashes = step.hashes().subspan(first, num_children);
  fresh_.clear();
  fresh_nodes_.clear();
  first_new_ = static_cast<std::uint32_t>(nodes_.size());
  for (std::size_t i = 0; i < num_children; ++i) {
    if (i + kPrefetchDistance < num_children) nodes_.Prefetch(hashes[i + kPrefetchDistance]);
    if (step.is_left_out()[first + i] != 0) continue;
    const std::uint32_t entry = popped_[i / children_of_entry];
    const std::uint32_t parent = opens_states_ ? entry : entry / num_actions_;
    const auto action =
        static_cast<Action>(opens_states_ ? i % num_actions_ : entry % num_actions_);
    const std::optional<Reached> reached = Reach(step, first + i, parent, action);
    if (!reached) continue;
    if (!reached->is_new && (!uses_costs() || IsFresh(reached->node))) continue;
    if (opens_states_ && !reached->is_new) {
      SetFlag(reached->node, false);
      OpenState(reached->node);
      continue;
    }
    if (!opens_states_) SetFlag(reached->node, true);
    fresh_.push_back(static_cast<std::uint32_t>(first + i));
    fresh_nodes_.push_back(reached->node);
  }
}

// Counts a child of `step`, and adds its state, lowers the cost of its node, or notes the solution
// through a child of known cost. Returns nothing unless the state or its cheaper path is new.
std::optional<BestFirstTree::Reached> BestFirstTree::Reach(const Expander& step, std::size_t child,
                                                           std::uint32_t parent, Action action) {
  ++generated_;
  const double cost = nodes_[parent].cost + spec_.action_costs[action];
  if (goal_ && cost >= SolutionCost()) return std::nullopt;
  if (bound_.Excludes(cost + step.LeastCostToGo(child))) {
    excluded_ = true;
    return std::nullopt;
  }
  if (const float rest = step.KnownCost(child); !std::isinf(rest)) {
    if (goal_ && cost + rest >= SolutionCost()) return std::nullopt;
    goal_ = {.parent = parent,
             .rest = step.PathToGoal(child),
             .to_known = spec_.action_costs[action],
             .known = rest};
    goal_->rest.insert(goal_->rest.begin(), action);
    return std::nullopt;
  }
  if (goal_ && cost + step.least_unknown() >= SolutionCost()) return std::nullopt;
  const std::span<const std::uint8_t> state = step.children()[child];
  const std::uint64_t hash = step.hashes()[child];
  const std::uint32_t known = nodes_.Find(state, hash);
  if (known == NodeTable::kNone) {
    if (std::cmp_greater_equal(nodes_.size(), max_nodes_)) {
      full_ = true;
      return std::nullopt;
    }
    const auto node = static_cast<std::uint32_t>(nodes_.size());
    nodes_.Add(state, hash, {.cost = cost, .estimate = 0, .parent = parent, .flag = 0}, action);
    return Reached{.node = node, .is_new = true};
  }
  if (cost >= nodes_[known].cost) return std::nullopt;
  nodes_.SetPath(known, cost, parent, action);
  return Reached{.node = known, .is_new = false};
}

void BestFirstTree::SetValues(std::span<const float> values) {
  const std::size_t width = opens_states_ ? 1 : num_actions_;
  for (std::size_t i = 0; i < fresh_nodes_.size(); ++i) {
    SetValuesOf(fresh_nodes_[i], values.subspan(i * width, width));
  }
}

void BestFirstTree::SetValuesOf(std::uint32_t node, std::span<const float> values) {
  nodes_[node].estimate = CostToGo(std::ranges::min(values));
  if (nodes_[node].estimate < nodes_[nearest_].estimate) nearest_ = node;
  if (opens_states_) {
    OpenState(node);
  } else {
    SetFlag(node, false);
    OpenActions(node, values);
  }
}

void BestFirstTree::OpenState(std::uint32_t node) {
  Push(weight_ * static_cast<float>(nodes_[node].cost) + nodes_[node].estimate, node);
}

void BestFirstTree::OpenActions(std::uint32_t node, std::span<const float> values) {
  const auto cost = static_cast<float>(nodes_[node].cost);
  for (std::uint32_t action = 0; action < num_actions_; ++action) {
    const bool undoes = node != 0 && !spec_.inverse_actions.empty() &&
                        spec_.inverse_actions[nodes_.action(node)] == action;
    if (undoes) continue;
    const float of_action = spec_.action_costs[action];
    Push(weight_ * (cost + of_action) + CostToGo(values[action] - of_action),
         node * num_actions_ + action);
  }
}

std::vector<Action> BestFirstTree::PathTo(std::uint32_t node) const {
  std::vector<Action> actions;
  for (; node != 0; node = nodes_[node].parent) actions.push_back(nodes_.action(node));
  std::ranges::reverse(actions);
  return actions;
}

SearchResult BestFirstTree::Result() const {
  SearchResult result{.solved = goal_.has_value() || *stop_reason_ == StopReason::kSolved,
                      .stop_reason = *stop_reason_,
                      .nodes = generated_,
                      .expanded = expanded_,
                      .stored = static_cast<std::int64_t>(nodes_.size()),
                      .bytes = static_cast<std::int64_t>(nodes_.bytes() + open_.bytes()),
                      .seconds = seconds_};
  if (goal_) {
    result.actions = PathTo(goal_->parent);
    result.actions.insert(result.actions.end(), goal_->rest.begin(), goal_->rest.end());
    // Cheaper paths to states before the goal's parent may have been found since its cost was set.
    result.cost = CostOf(spec_, result.actions);
  } else if (!result.solved) {
    result.best = {.actions = PathTo(nearest_), .estimate = nodes_[nearest_].estimate};
    result.best->cost = CostOf(spec_, result.best->actions);
  }
  return result;
}

// The search of one puzzle among several.
struct BestFirstSearch::Running {
  std::size_t number = 0;  // index of the puzzle
  std::unique_ptr<BestFirstTree> tree;
  std::size_t first_state = 0;  // of the tree, among the states of the current step
  std::size_t first_fresh = 0;  // of the tree, among the states that need values
};

BestFirstSearch::BestFirstSearch(OpenEntry entry, const Domain& domain, Evaluator& network,
                                 const Config& config, std::shared_ptr<const GoalBall> ball)
    : entry_(entry),
      domain_(domain),
      config_(config.search),
      ball_(std::move(ball)),
      children_of_entry_(
          entry == OpenEntry::kState ? static_cast<std::size_t>(domain.spec().num_actions()) : 1),
      follows_policy_(network.action_values() == ActionValues::kSurprisals &&
                      config.search.policy_actions > 0),
      expander_(domain, ball_),
      evaluator_(domain, network, RowsPerCall(config)) {
  if (!(config_.weight >= 0) || std::isinf(static_cast<float>(config_.weight))) {
    throw Error(fmt::format("{}: weight is {}; expected a finite number of at least 0", name(),
                            config_.weight));
  }
  if (config_.batch < 1 || config_.instances < 1) {
    throw Error(fmt::format("{}: batch is {} and instances is {}; expected both to be at least 1",
                            name(), config_.batch, config_.instances));
  }
  const double children = static_cast<double>(config_.instances) *
                          static_cast<double>(config_.batch) *
                          static_cast<double>(children_of_entry_);
  if (children > std::numeric_limits<std::uint32_t>::max()) {
    throw InputError(fmt::format(
        "search.instances: {} and search.batch: {} make {:.0f} children at a time, expected at "
        "most {}",
        config_.instances, config_.batch, children, std::numeric_limits<std::uint32_t>::max()));
  }
  if (entry == OpenEntry::kState) {
    CheckEstimatesStates(name(), network);
  } else if (network.action_values() != ActionValues::kQValues) {
    throw Error("Q* needs an evaluator whose values of actions are Q values");
  }
}

void BestFirstSearch::SolveAll(const ProblemBatch& problems, const StopSignal& stop,
                               const Done& done) {
  std::vector<Running> running;
  Stopwatch timer;
  for (std::size_t next = 0; next < problems.size() || !running.empty();) {
    const std::size_t old = running.size();
    for (; std::cmp_less(running.size(), config_.instances) && next < problems.size(); ++next) {
      running.push_back({.number = next, .tree = MakeTree(problems, next)});
    }
    EvaluateStarts(problems, std::span(running).subspan(old), stop);
    if (stop.Reached()) throw Stopped();
    Step(running, stop);
    const double share = timer.Lap() / static_cast<double>(running.size());
    for (const Running& each : running) each.tree->AddSeconds(share);
    for (const Running& each : running) {
      if (each.tree->ended()) done(each.number, each.tree->Result());
    }
    std::erase_if(running, [](const Running& each) { return each.tree->ended(); });
  }
}

// Makes a tree, which has ended if the start is a goal or lies in the ball.
std::unique_ptr<BestFirstTree> BestFirstSearch::MakeTree(const ProblemBatch& problems,
                                                         std::size_t number) const {
  const std::span<const std::uint8_t> start = problems.states[number];
  const float at_most = problems.AtMost(number, config_.at_most);
  auto tree = std::make_unique<BestFirstTree>(entry_, domain_.spec(), config_, start, at_most);
  std::optional<std::vector<Action>> known =
      KnownSolution(domain_, ball_.get(), CostBound(at_most), kAnyLength, start);
  if (known) tree->SetSolution(std::move(*known));
  return tree;
}

// Evaluates the starts of trees that were just made.
void BestFirstSearch::EvaluateStarts(const ProblemBatch& problems, std::span<Running> running,
                                     const StopSignal& stop) {
  states_.clear();
  std::vector<BestFirstTree*> trees;
  for (const Running& each : running) {
    if (each.tree->ended()) continue;
    trees.push_back(each.tree.get());
    std::ranges::copy(problems.states[each.number], std::back_inserter(states_));
  }
  if (trees.empty()) return;
  const std::span<const float> values =
      Evaluate({states_.data(), trees.size(), problems.states.row_size()}, stop);
  const std::size_t width = values.size() / trees.size();
  for (std::size_t i = 0; i < trees.size(); ++i) {
    trees[i]->SetStartValues(values.subspan(i * width, width));
  }
}

// Makes one step of all trees.
void BestFirstSearch::Step(std::span<Running> running, const StopSignal& stop) {
  MakeChildren(running, stop);
  ForEach(running.size(), [&](std::size_t i) {
    running[i].tree->Receive(expander_, running[i].first_state * children_of_entry_);
  });
  fresh_.clear();
  for (Running& each : running) {
    each.first_fresh = fresh_.size();
    fresh_.insert(fresh_.end(), each.tree->fresh().begin(), each.tree->fresh().end());
  }
  if (fresh_.empty()) return;
  const std::span<const float> values = Evaluate(expander_.Build(fresh_, fresh_states_), stop);
  const std::size_t width = values.size() / fresh_.size();
  ForEach(running.size(), [&](std::size_t i) {
    BestFirstTree& tree = *running[i].tree;
    tree.SetValues(values.subspan(running[i].first_fresh * width, tree.fresh().size() * width));
  });
}

// Pops the entries that all trees take next, and makes their children.
void BestFirstSearch::MakeChildren(std::span<Running> running, const StopSignal& stop) {
  ForEach(running.size(), [&](std::size_t i) { running[i].tree->Pop(); });
  std::size_t count = 0;
  for (Running& each : running) {
    each.first_state = count;
    count += each.tree->num_popped();
  }
  const auto state_size = static_cast<std::size_t>(domain_.spec().state_size);
  states_.resize(count * state_size);
  actions_.resize(count);
  const Rows states(states_.data(), count, state_size);
  ForEach(running.size(), [&](std::size_t i) {
    const auto [first, popped] = std::pair(running[i].first_state, running[i].tree->num_popped());
    running[i].tree->CopyPopped(states.Slice(first, popped),
                                std::span(actions_).subspan(first, popped));
  });
  if (entry_ == OpenEntry::kAction) return expander_.Step(states, actions_);
  expander_.Expand(states);
  if (!follows_policy_) return;
  expander_.KeepBest(evaluator_.EvaluateActions(states, stop),
                     static_cast<std::size_t>(config_.policy_actions));
}

std::span<const float> BestFirstSearch::Evaluate(ConstRows states, const StopSignal& stop) {
  return entry_ == OpenEntry::kState ? evaluator_.Estimate(states, stop)
                                     : evaluator_.EvaluateActions(states, stop);
}

std::string BestFirstSearch::Describe() const {
  return fmt::format("{} with weight {:g}", name(), config_.weight);
}

std::string BestFirstSearch::Failure(const SearchResult& result) const {
  if (result.stop_reason == StopReason::kTimeLimit && config_.batch < kSmallBatch) {
    return fmt::format(
        "{}; raise search.batch ({}): the search generated only {} nodes per second",
        NotInTime(config_), config_.batch,
        WithThousands(static_cast<long long>(static_cast<double>(result.nodes) / result.seconds)));
  }
  std::string at_limit = AtLimit(config_, result.stop_reason, LowerWeight(config_), result.stored);
  if (!at_limit.empty()) return at_limit;
  if (result.stop_reason == StopReason::kCostLimit) {
    if (config_.policy_actions == 0) {
      return fmt::format("no solution costs at most {}; raise the limit", AllowedCost());
    }
    return fmt::format(
        "no solution of the {} most probable actions of each state costs at most {}; raise the "
        "limit or search.policy_actions",
        config_.policy_actions, AllowedCost());
  }
  if (config_.policy_actions > 0) return NotAmongProbable(config_);
  return fmt::format("the puzzle has no solution: none of the {} reachable states is a goal",
                     WithThousands(result.stored));
}

std::string BestFirstSearch::DescribeMemory() const {
  const auto bytes_for = [&](std::int64_t nodes) {
    const auto entries_of_node =
        static_cast<std::int64_t>(entry_ == OpenEntry::kState ? 1 : domain_.spec().num_actions());
    return NodeTable::BytesFor(static_cast<std::size_t>(nodes),
                               static_cast<std::size_t>(domain_.spec().state_size)) +
           OpenList::BytesFor(static_cast<std::size_t>(nodes * entries_of_node));
  };
  std::string text = fmt::format("{}: weight {:g}, up to {} states at a time", name(),
                                 config_.weight, WithThousands(config_.batch));
  if (config_.instances > 1) text += fmt::format(" of each of {} puzzles", config_.instances);
  const std::int64_t most = MostStored(config_);
  if (most == 0) {
    constexpr std::int64_t kMany = 1'000'000;
    return text + fmt::format(", {} bytes per node and no limit", bytes_for(kMany) / kMany);
  }
  return text + fmt::format("; at most {} nodes, which take {}{}", WithThousands(most),
                            HumanBytes(static_cast<double>(bytes_for(most))),
                            config_.instances > 1 ? ", for each" : "");
}

}  // namespace tandem
