#include "search/search.h"

#include <utility>

#include "search/anytime_beam_search.h"
#include "search/astar.h"
#include "search/beam_search.h"

namespace tandem {

const char* Name(Ended ended) {
  switch (ended) {
    case Ended::kSolved:
      return "solved";
    case Ended::kExhausted:
      return "exhausted";
    case Ended::kLengthLimit:
      return "length limit";
    case Ended::kNodeLimit:
      return "node limit";
    case Ended::kTimeLimit:
      return "time limit";
  }
  return "";  // not reached: the compiler warns of a missing case
}

SearchResult Search::Solve(std::span<const std::uint8_t> start, const StopSignal& stop) {
  SearchResult only;
  SolveAll(ConstRows(start), stop,
           [&](std::size_t /*number*/, SearchResult result) { only = std::move(result); });
  return only;
}

std::unique_ptr<Search> MakeSearch(const Domain& domain, QEvaluator& network,
                                   const Config& config) {
  QEvaluator* const q_net = config.network.head == Head::kQ ? &network : nullptr;
  switch (config.search.method) {
    case SearchMethod::kAStar:
      return std::make_unique<AStar>(domain, network, config);
    case SearchMethod::kBeam:
      return std::make_unique<BeamSearch>(domain, network, config, q_net);
    case SearchMethod::kAnytimeBeam:
      return std::make_unique<AnytimeBeamSearch>(domain, network, config, q_net);
  }
  return nullptr;  // not reached: the compiler warns of a missing case
}

float CostOf(const DomainSpec& spec, std::span<const Action> actions) {
  float cost = 0;
  for (const Action action : actions) cost += spec.action_costs[action];
  return cost;
}

}  // namespace tandem
