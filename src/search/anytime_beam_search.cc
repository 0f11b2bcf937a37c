#include "search/anytime_beam_search.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/stopwatch.h"
#include "base/text.h"
#include "search/costs.h"
#include "search/detours.h"

namespace tandem {
namespace {

constexpr std::int64_t kFirstWidth = 64;
constexpr std::int64_t kMostGrowth = 8;
constexpr std::int64_t kLeastGrowth = 2;

// Share of the remaining time, or of the remaining nodes, that a search should take. The rest
// allows for the error of the prediction.
constexpr double kShareOfRest = 0.8;

// Adds the work of `next` to `all`, and takes its path if that is better.
void Merge(SearchResult next, SearchResult& all) {
  all.nodes += next.nodes;
  all.expanded += next.expanded;
  all.stored = std::max(all.stored, next.stored);
  all.bytes = std::max(all.bytes, next.bytes);
  all.stop_reason = next.stop_reason;
  all.dropped_states = next.dropped_states;
  if (next.solved && (!all.solved || next.cost < all.cost)) {
    all.solved = true;
    all.actions = std::move(next.actions);
    all.cost = next.cost;
    all.best.reset();
  } else if (!all.solved && next.best && (!all.best || next.best->estimate < all.best->estimate)) {
    all.best = std::move(next.best);
  }
}

}  // namespace

std::optional<std::int64_t> NextWidth(std::int64_t width, double spent, double remaining,
                                      std::int64_t widest) {
  if (width >= widest) return std::nullopt;
  const std::int64_t wanted = std::min(kMostGrowth * width, widest);
  const std::int64_t enough = std::min(kLeastGrowth * width, widest);
  const double growth = kShareOfRest * remaining / std::max(spent, 1e-9);
  const double possible = static_cast<double>(width) * growth;
  if (possible < static_cast<double>(enough)) return std::nullopt;
  return possible < static_cast<double>(wanted) ? static_cast<std::int64_t>(possible) : wanted;
}

AnytimeBeamSearch::AnytimeBeamSearch(const Domain& domain, Evaluator& network, const Config& config,
                                     std::shared_ptr<const GoalBall> ball)
    : domain_(domain), config_(config.search), beam_(domain, network, config, std::move(ball)) {}

void AnytimeBeamSearch::SolveAll(const ProblemBatch& problems, const StopSignal& stop,
                                 const Done& done) {
  for (std::size_t i = 0; i < problems.size(); ++i) {
    const Stopwatch watch;
    SearchResult result = SolveOne(problems.states[i], problems.AtMost(i, config_.at_most), stop);
    result.seconds = watch.Seconds();
    done(i, std::move(result));
  }
}

SearchResult AnytimeBeamSearch::SolveOne(std::span<const std::uint8_t> start, float at_most,
                                         const StopSignal& stop) {
  const Stopwatch watch;
  const DomainSpec& spec = domain_.spec();
  const std::int64_t widest = config_.beam_width;
  BeamSearch::Limits limits{.width = std::min(kFirstWidth, widest),
                            .max_length = config_.max_length,
                            .max_seconds = config_.max_seconds,
                            .at_most = at_most,
                            .work = WorkLimitsOf(config_)};
  SearchResult all;
  for (;;) {
    SearchResult next = beam_.SolveWithin(limits, start, stop);
    if (next.solved) {  // so that the next beam has to be better than what this one really costs
      next.actions = WithoutDetours(domain_, start, next.actions);
      next.cost = CostOf(spec, next.actions);
    }
    const double seconds = next.seconds;
    const std::int64_t nodes = next.nodes;
    // A beam ends at its first solution. If costs differ, a longer one may be cheaper.
    const bool may_improve = !beam_.kept_all() || (next.solved && CostsDiffer(spec));
    Merge(std::move(next), all);
    if (all.stop_reason == StopReason::kTimeLimit || all.stop_reason == StopReason::kNodeLimit ||
        all.stop_reason == StopReason::kMemoryLimit) {
      return all;
    }
    if (all.solved) {
      all.stop_reason = StopReason::kSolved;
      limits.at_most = CostBelow(spec, all.cost);
      if (limits.at_most <= 0) return all;
    }
    if (!may_improve || limits.width >= widest) return all;
    limits.max_seconds = config_.max_seconds - watch.Seconds();
    StopReason limit = StopReason::kTimeLimit;
    std::optional<std::int64_t> width =
        NextWidth(limits.width, seconds, limits.max_seconds, widest);
    if (width && limits.work.max_nodes > 0) {
      limit = StopReason::kNodeLimit;
      limits.work.max_nodes -= nodes;
      width = NextWidth(limits.width, static_cast<double>(nodes),
                        static_cast<double>(limits.work.max_nodes), *width);
    }
    if (!width) {
      all.stop_reason = limit;
      return all;
    }
    limits.width = *width;
  }
}

std::string AnytimeBeamSearch::Describe() const {
  return fmt::format("anytime {} within {}", beam_.Describe(), HumanSeconds(config_.max_seconds));
}

std::string AnytimeBeamSearch::Failure(const SearchResult& result) const {
  const bool out_of_work =
      result.stop_reason == StopReason::kTimeLimit || result.stop_reason == StopReason::kNodeLimit;
  return out_of_work ? AtLimit(config_, result.stop_reason) : beam_.Failure(result);
}

}  // namespace tandem
