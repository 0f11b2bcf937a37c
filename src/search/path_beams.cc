#include "search/path_beams.h"

#include <algorithm>
#include <new>
#include <utility>

#include "domain/goal.h"
#include "search/costs.h"
#include "search/search.h"
#include "tandem/permutation.h"

namespace tandem {
namespace {

Config ForParts(Config config) {
  if (config.search.method != SearchMethod::kBidirectionalBeam) {
    config.search.method = SearchMethod::kBeam;
  }
  return config;
}

}  // namespace

PathBeams::PathBeams(const Domain& domain, Evaluator& network, const Config& config,
                     std::shared_ptr<const GoalBall> ball)
    : domain_(domain),
      config_(config.search),
      permutes_(dynamic_cast<const PermutationDomain*>(&domain) != nullptr),
      least_part_cost_(ball != nullptr ? 2 * ball->radius() : 0),
      beam_(domain, network, ForParts(config), std::move(ball)) {}

PathBeams::Pass PathBeams::Shorten(std::span<const std::uint8_t> start,
                                   std::vector<Action>& actions, std::int64_t width,
                                   const StopSignal& stop, std::int64_t max_nodes,
                                   std::int64_t max_length) {
  Pass pass;
  for (const Part part : PartsOf(actions.size())) {
    const std::int64_t left = max_nodes > 0 ? max_nodes - pass.nodes : 0;
    if (stop.Reached() || (max_nodes > 0 && left <= 0)) {
      pass.wider_may_help = true;
      return pass;
    }
    const auto way = CheaperWay(start, actions, part, width, left, max_length, stop, pass);
    if (!way) continue;
    const auto at = actions.begin() + static_cast<std::ptrdiff_t>(part.first);
    const auto rest = actions.erase(at, at + static_cast<std::ptrdiff_t>(part.length));
    actions.insert(rest, way->begin(), way->end());
    pass.shortened = true;
    return pass;
  }
  return pass;
}

// The parts of a solution of `length` actions. If parts may lie anywhere, each length is three
// quarters of the last, and neighbours overlap by about three quarters.
std::vector<PathBeams::Part> PathBeams::PartsOf(std::size_t length) const {
  std::vector<Part> parts;
  for (std::size_t size = length; size > 1; size = permutes_ ? size * 3 / 4 : size - 1) {
    const std::size_t last = length - size;
    if (!permutes_) {
      parts.push_back({.first = last, .length = size});
      continue;
    }
    const std::size_t step = std::max<std::size_t>(size / 4, 1);
    for (std::size_t first = 0; first < last; first += step) {
      parts.push_back({.first = first, .length = size});
    }
    parts.push_back({.first = last, .length = size});
  }
  return parts;
}

std::optional<std::vector<Action>> PathBeams::CheaperWay(std::span<const std::uint8_t> start,
                                                         const std::vector<Action>& actions,
                                                         Part part, std::int64_t width,
                                                         std::int64_t max_nodes,
                                                         std::int64_t max_length,
                                                         const StopSignal& stop, Pass& pass) {
  const std::span<const Action> old = std::span(actions).subspan(part.first, part.length);
  const float cost = CostOf(domain_.spec(), old);
  if (cost <= least_part_cost_) return std::nullopt;
  std::vector<std::uint8_t> from(start.begin(), start.end());
  ApplyAll(domain_, std::span(actions).first(part.first), from);
  const bool is_last = part.first + part.length == actions.size();
  std::vector<std::uint8_t> moved = from;  // the position from which the part leads to the goal
  if (!is_last) {
    moved = GoalOf(domain_);
    UndoAll(domain_, old, moved);
  }
  SearchResult result;
  try {
    result = beam_.SolveWithin(
        {.width = width,
         .max_length =
             std::min(config_.max_length, MaxPartLength(actions.size(), part.length, max_length)),
         .max_seconds = 0,
         .at_most = CostBelow(domain_.spec(), cost),
         .work = {.max_nodes = max_nodes, .max_bytes = config_.max_bytes()}},
        moved, stop);
  } catch (const Stopped&) {
    pass.nodes += beam_.generated();
    pass.wider_may_help = true;
    return std::nullopt;
  } catch (const std::bad_alloc&) {
    return std::nullopt;
  }
  pass.nodes += result.nodes;
  if (!beam_.kept_all() && result.stop_reason != StopReason::kMemoryLimit) {
    pass.wider_may_help = true;
  }
  if (!result.solved || result.cost >= cost) return std::nullopt;
  if (is_last) return std::move(result.actions);
  std::vector<std::uint8_t> to = from;
  ApplyAll(domain_, old, to);
  ApplyAll(domain_, result.actions, from);
  if (from != to) return std::nullopt;
  return std::move(result.actions);
}

}  // namespace tandem
