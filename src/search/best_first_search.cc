#include "search/best_first_search.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "base/text.h"
#include "search/costs.h"
#include "search/hash_set.h"
#include "tandem/error.h"

namespace tandem {

std::int64_t MostStored(const SearchConfig& config) {
  return config.max_nodes.value_or(SearchConfig::kAStarNodes);
}

BestFirstTree::BestFirstTree(const DomainSpec& spec, const SearchConfig& config,
                             std::span<const std::uint8_t> start, float at_most,
                             std::int64_t most_nodes)
    : spec_(spec),
      config_(config),
      weight_(static_cast<float>(config.weight)),
      nodes_(start.size()),
      max_nodes_(MostStored(config) > 0 ? std::min(MostStored(config), most_nodes) : most_nodes),
      bound_(at_most) {
  nodes_.Add(start, HashState(start), {.cost = 0, .estimate = 0, .parent = 0, .flag = 0}, 0);
}

void BestFirstTree::SetSolution(std::vector<Action> actions) {
  const float cost = CostOf(spec_, actions);
  goal_ = {.parent = 0, .rest = std::move(actions), .to_known = 0, .known = cost};
  stop_reason_ = StopReason::kSolved;
}

void BestFirstTree::CheckLimits(std::size_t parents, std::size_t children, std::size_t entries) {
  if (full_) {
    stop_reason_ = StopReason::kNodeLimit;
    return;
  }
  if (config_.max_seconds > 0 && seconds_ >= config_.max_seconds) {
    stop_reason_ = StopReason::kTimeLimit;
    return;
  }
  const std::size_t nodes =
      std::min(nodes_.size() + children, static_cast<std::size_t>(max_nodes_));
  const std::size_t stored =
      std::max(NodeTable::BytesFor(nodes, static_cast<std::size_t>(spec_.state_size)),
               nodes_.bytes()) +
      std::max(OpenList::BytesFor(entries), open_.bytes());
  const std::int64_t bytes = static_cast<std::int64_t>(stored) +
                             Expander::BytesFor(spec_, static_cast<std::int64_t>(parents));
  stop_reason_ = WorkLimits{.max_bytes = config_.max_bytes()}.ExceededBy(0, bytes);
}

void BestFirstTree::EndWithoutOpenEntries() {
  if (goal_) {
    stop_reason_ = StopReason::kSolved;
  } else {
    stop_reason_ = excluded_ ? StopReason::kCostLimit : StopReason::kExhausted;
  }
}

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
  if (goal_ && cost + step.known_costs().least_unknown() >= SolutionCost()) return std::nullopt;
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

void BestFirstTree::SetEstimate(std::uint32_t node, float estimate) {
  nodes_[node].estimate = CostToGo(estimate);
  if (nodes_[node].estimate < nodes_[nearest_].estimate) nearest_ = node;
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

namespace {

// A search that is this close to greedy gains little from a lower weight.
constexpr double kLowWeight = 0.1;

// Below this batch size, most of a step is the fixed cost of calling the network.
constexpr std::int64_t kSmallBatch = 100;

std::string LowerWeight(const SearchConfig& config) {
  if (config.weight <= kLowWeight) return "";
  return fmt::format("lower search.weight ({:g}), or ", config.weight);
}

}  // namespace

void SolveIfKnown(BestFirstTree& tree, const Domain& domain, const GoalBall* ball,
                  std::span<const std::uint8_t> start, float at_most) {
  std::optional<std::vector<Action>> known =
      KnownSolution(domain, ball, CostBound(at_most), kAnyLength, start);
  if (known) tree.SetSolution(std::move(*known));
}

BestFirstSearch::BestFirstSearch(const char* name, const SearchConfig& config,
                                 int children_of_entry)
    : name_(name), config_(config) {
  if (!(config.weight >= 0) || std::isinf(static_cast<float>(config.weight))) {
    throw Error(fmt::format("{}: weight is {}; expected a finite number of at least 0", name,
                            config.weight));
  }
  if (config.batch < 1 || config.instances < 1) {
    throw Error(fmt::format("{}: batch is {} and instances is {}; expected both to be at least 1",
                            name, config.batch, config.instances));
  }
  const double children =
      static_cast<double>(config.instances) * static_cast<double>(config.batch) * children_of_entry;
  if (children <= std::numeric_limits<std::uint32_t>::max()) return;
  throw InputError(fmt::format(
      "search.instances: {} and search.batch: {} make {:.0f} children at a time, expected at most "
      "{}",
      config.instances, config.batch, children, std::numeric_limits<std::uint32_t>::max()));
}

std::string BestFirstSearch::Describe() const {
  return fmt::format("{} with weight {:g}", name_, config_.weight);
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

std::string BestFirstMemory(const char* search, const SearchConfig& config,
                            std::size_t (*bytes_for)(std::size_t nodes, const DomainSpec& spec),
                            const DomainSpec& spec) {
  std::string text = fmt::format("{}: weight {:g}, up to {} states at a time", search,
                                 config.weight, WithThousands(config.batch));
  if (config.instances > 1) text += fmt::format(" of each of {} puzzles", config.instances);
  const std::int64_t most = MostStored(config);
  if (most == 0) {
    constexpr std::size_t kMany = 1'000'000;
    return text + fmt::format(", {} bytes per node and no limit", bytes_for(kMany, spec) / kMany);
  }
  const auto bytes = static_cast<double>(bytes_for(static_cast<std::size_t>(most), spec));
  return text + fmt::format("; at most {} nodes, which take {}{}", WithThousands(most),
                            HumanBytes(bytes), config.instances > 1 ? ", for each" : "");
}

}  // namespace tandem
