#include "search/search.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "base/text.h"
#include "search/game_search.h"
#include "search/goal_ball.h"

namespace tandem {

std::optional<StopReason> WorkLimitExceeded(const SearchConfig& config, std::int64_t nodes,
                                            std::int64_t bytes) {
  const std::int64_t max_nodes = config.max_nodes.value_or(0);  // 0: no limit
  if (max_nodes > 0 && nodes > max_nodes) return StopReason::kNodeLimit;
  if (config.max_bytes() > 0 && bytes > config.max_bytes()) return StopReason::kMemoryLimit;
  return std::nullopt;
}

float ProblemBatch::AtMost(std::size_t i, double limit) const {
  // A limit that is too small for a float must not become 0, which means that there is no limit.
  const float all =
      limit > 0 ? std::max(static_cast<float>(limit), std::numeric_limits<float>::min()) : 0;
  if (at_most.empty() || at_most[i] <= 0) return all;
  return all > 0 ? std::min(all, at_most[i]) : at_most[i];
}

SearchResult Search::Solve(std::span<const std::uint8_t> start, const StopSignal& stop) {
  SearchResult only;
  SolveAll(ConstRows(start), stop,
           [&](std::size_t /*number*/, SearchResult result) { only = std::move(result); });
  return only;
}

std::string Search::NotInTime(const SearchConfig& config) {
  return fmt::format("no solution found in {} (search.max_seconds)",
                     HumanSeconds(config.max_seconds));
}

std::string Search::AtLimit(const SearchConfig& config, StopReason reason, std::string_view advice,
                            std::optional<std::int64_t> max_nodes) {
  if (reason == StopReason::kTimeLimit) {
    return fmt::format("{}; {}raise search.max_seconds", NotInTime(config), advice);
  }
  if (reason == StopReason::kNodeLimit) {
    return fmt::format(
        "no solution found with {} nodes (search.max_nodes); {}raise search.max_nodes",
        WithThousands(max_nodes.value_or(config.max_nodes.value_or(0))), advice);
  }
  if (reason == StopReason::kMemoryLimit) {
    return fmt::format("no solution found within {} (search.max_gib); {}raise search.max_gib",
                       HumanBytes(static_cast<double>(config.max_bytes())), advice);
  }
  return "";
}

std::string Search::NotAmongProbable(const SearchConfig& config) {
  return fmt::format(
      "no solution consists of the {} most probable actions of each state; raise "
      "search.policy_actions",
      config.policy_actions);
}

std::unique_ptr<Search> MakeSearch(const Domain& domain, Evaluator& network, const Config& config,
                                   std::shared_ptr<const GoalBall> ball) {
  if (PlaysGames(config.search.method)) return MakeGameSearch(domain, network, config);
  CheckIsPuzzle(domain, "search.method", NameOf(kSearchMethods, config.search.method),
                "search.method to gumbel or puct (--set search.method=gumbel)");
  if (ball == nullptr) ball = MakeGoalBall(domain, config.search.ball_radius, config.memory);
  switch (config.search.method) {
    case SearchMethod::kAStar:
      return MakeAStar(domain, network, config, std::move(ball));
    case SearchMethod::kQStar:
      return MakeQStar(domain, network, config, std::move(ball));
    case SearchMethod::kIdaStar:
      return MakeIdaStar(domain, network, config, std::move(ball));
    case SearchMethod::kBeam:
    case SearchMethod::kBidirectionalBeam:
      return MakeBeamSearch(domain, network, config, std::move(ball));
    case SearchMethod::kAnytimeBeam:
      return MakeAnytimeBeamSearch(domain, network, config, std::move(ball));
    case SearchMethod::kGreedy:
      return MakeGreedySearch(domain, network, config, std::move(ball));
    case SearchMethod::kGumbel:
    case SearchMethod::kPuct:
      break;  // made before
  }
  return nullptr;  // not reached: the compiler warns of a missing case
}

float CostOf(const DomainSpec& spec, std::span<const Action> actions) {
  double cost = 0;
  for (const Action action : actions) cost += spec.action_costs[action];
  return static_cast<float>(cost);
}

void ApplyAll(const Domain& domain, std::span<const Action> actions,
              std::span<std::uint8_t> state) {
  for (const Action& action : actions) domain.Apply(Rows(state), {&action, 1});
}

}  // namespace tandem
