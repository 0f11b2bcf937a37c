#include "search/anytime_beam_search.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/stopwatch.h"
#include "search/beam_search.h"
#include "search/expander.h"

namespace tandem {
namespace {

constexpr std::int64_t kFirstWidth = 64;
constexpr std::int64_t kMostGrowth = 8;
constexpr std::int64_t kLeastGrowth = 2;

// Share of the remaining time that a search should take. The rest allows for the error of the
// prediction.
constexpr double kShareOfTime = 0.8;

// The greatest number of actions that can cost less than `cost`.
std::int64_t LengthBelow(float cost, const DomainSpec& spec) {
  return static_cast<std::int64_t>(std::ceil(cost / LeastCost(spec))) - 1;
}

// Adds the work of `next` to `all`, and takes its path if that is better.
void Merge(SearchResult next, SearchResult& all) {
  all.nodes += next.nodes;
  all.expanded += next.expanded;
  all.stored = std::max(all.stored, next.stored);
  all.bytes = std::max(all.bytes, next.bytes);
  all.ended = next.ended;
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

std::optional<std::int64_t> NextWidth(std::int64_t width, double seconds, double remaining,
                                      std::int64_t widest) {
  if (width >= widest) return std::nullopt;
  const std::int64_t wanted = std::min(kMostGrowth * width, widest);
  const std::int64_t enough = std::min(kLeastGrowth * width, widest);
  const double growth = kShareOfTime * remaining / std::max(seconds, 1e-9);
  const double in_time = static_cast<double>(width) * growth;
  if (in_time < static_cast<double>(enough)) return std::nullopt;
  return in_time < static_cast<double>(wanted) ? static_cast<std::int64_t>(in_time) : wanted;
}

AnytimeBeamSearch::AnytimeBeamSearch(const Domain& domain, Evaluator& network, Config config,
                                     QEvaluator* q_net, std::shared_ptr<const GoalBall> ball)
    : domain_(domain),
      network_(network),
      config_(std::move(config)),
      q_net_(q_net),
      ball_(std::move(ball)) {}

void AnytimeBeamSearch::SolveAll(ConstRows starts, const StopSignal& stop, const Done& done) {
  for (std::size_t i = 0; i < starts.size(); ++i) {
    const Stopwatch watch;
    SearchResult result = SolveOne(starts[i], stop);
    result.seconds = watch.Seconds();
    done(i, std::move(result));
  }
}

SearchResult AnytimeBeamSearch::SolveOne(std::span<const std::uint8_t> start,
                                         const StopSignal& stop) {
  const Stopwatch watch;
  const std::int64_t widest = config_.search.beam_width;
  Config config = config_;
  config.search.beam_width = std::min(kFirstWidth, widest);
  SearchResult all;
  for (;;) {
    BeamSearch search(domain_, network_, config, q_net_, ball_);
    SearchResult next = search.Solve(start, stop);
    const double seconds = next.seconds;
    const bool out_of_time = next.ended == Ended::kTimeLimit;
    Merge(std::move(next), all);
    if (out_of_time) return all;

    if (all.solved) {
      all.ended = Ended::kSolved;
      config.search.max_length =
          std::min(config_.search.max_length, LengthBelow(all.cost, domain_.spec()));
      if (config.search.max_length <= 0) return all;
    }
    const std::int64_t width = config.search.beam_width;
    if (width >= widest) return all;
    const double remaining = config_.search.max_seconds - watch.Seconds();
    const std::optional<std::int64_t> wider = NextWidth(width, seconds, remaining, widest);
    if (!wider) {
      all.ended = Ended::kTimeLimit;
      return all;
    }
    config.search.beam_width = *wider;
    config.search.max_seconds = remaining;
  }
}

}  // namespace tandem
