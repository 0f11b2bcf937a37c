#include "search/best_first_search.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "base/text.h"
#include "search/cost_bound.h"
#include "tandem/error.h"

namespace tandem {
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
