// Beam search that widens its beam while time remains.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/stopwatch.h"
#include "base/text.h"
#include "search/beam_search.h"
#include "search/costs.h"
#include "search/detours.h"

namespace tandem {

/// AnytimeBeamSearch repeats BeamSearch with a beam that is twice as wide each time, from 64 states
/// to search.beam_width, and keeps the cheapest solution, without detours (complete anytime beam
/// search; Zhang 1998). Once there is a solution, it looks only for cheaper ones.
///
/// It ends when the widest beam is done, when no cheaper solution is possible, when a wider beam
/// would keep the same states, or at search.max_seconds or another limit, which `stop_reason` then
/// names, with or without a solution. search.max_nodes limits the sum over all beams.
class AnytimeBeamSearch final : public Search {
 public:
  /// Follows config.search, whose max_seconds must be above 0.
  AnytimeBeamSearch(const Domain& domain, Evaluator& network, const Config& config,
                    std::shared_ptr<const GoalBall> ball = nullptr)
      : domain_(domain), config_(config.search), beam_(domain, network, config, std::move(ball)) {}

  void SolveAll(const ProblemBatch& problems, const StopSignal& stop, const Done& done) override {
    for (std::size_t i = 0; i < problems.size(); ++i) {
      const Stopwatch watch;
      SearchResult all;
      SearchConfig limits = config_;
      limits.beam_width = std::min(kFirstWidth, config_.beam_width);
      limits.at_most = problems.AtMost(i, config_.at_most);
      while (AddBeam(problems.states[i], limits, stop, all)) {
        limits.beam_width = std::min(2 * limits.beam_width, config_.beam_width);
        limits.max_seconds = std::max(config_.max_seconds - watch.Seconds(), kLeastSeconds);
      }
      all.seconds = watch.Seconds();
      done(i, std::move(all));
    }
  }

  std::string Describe() const override {
    return fmt::format("anytime {} within {}", beam_.Describe(), HumanSeconds(config_.max_seconds));
  }
  std::string_view MainKey() const override { return beam_.MainKey(); }
  std::string Failure(const SearchResult& result) const override {
    const bool out_of_work = result.stop_reason == StopReason::kTimeLimit ||
                             result.stop_reason == StopReason::kNodeLimit;
    return out_of_work ? AtLimit(config_, result.stop_reason) : beam_.Failure(result);
  }

 private:
  static constexpr std::int64_t kFirstWidth = 64;
  static constexpr double kLeastSeconds = 1e-9;  // 0 would mean that there is no limit

  // Adds one beam's search to `all`, and tightens `limits`. Returns whether a wider one may be
  // better.
  bool AddBeam(std::span<const std::uint8_t> start, SearchConfig& limits, const StopSignal& stop,
               SearchResult& all) {
    SearchResult next = beam_.SolveWithin(limits, start, stop);
    all.nodes += next.nodes;
    all.expanded += next.expanded;
    all.stored = std::max(all.stored, next.stored);
    all.bytes = std::max(all.bytes, next.bytes);
    all.stop_reason = next.stop_reason;
    all.dropped_states = next.dropped_states;
    // A beam ends at its first solution. If costs differ, a longer one may be cheaper.
    const bool found_all = beam_.kept_all() && !(next.solved && CostsDiffer(domain_.spec()));
    if (next.solved) {  // detours go first, so that the next beam must beat what remains
      all.actions = WithoutDetours(domain_, start, next.actions);
      all.cost = CostOf(domain_.spec(), all.actions);
      all.solved = true;
      all.best.reset();
    } else if (!all.solved && next.best &&
               (!all.best || next.best->estimate < all.best->estimate)) {
      all.best = std::move(next.best);
    }
    const StopReason reason = all.stop_reason;
    if (reason == StopReason::kTimeLimit || reason == StopReason::kNodeLimit ||
        reason == StopReason::kMemoryLimit) {
      return false;
    }
    if (all.solved) {
      all.stop_reason = StopReason::kSolved;
      limits.at_most = CostBelow(domain_.spec(), all.cost);
      if (limits.at_most <= 0) return false;
    }
    if (found_all || limits.beam_width >= config_.beam_width) return false;
    if (limits.max_nodes.value_or(0) == 0) return true;
    limits.max_nodes = *limits.max_nodes - next.nodes;
    if (*limits.max_nodes > 0) return true;
    all.stop_reason = StopReason::kNodeLimit;
    return false;
  }

  const Domain& domain_;
  const SearchConfig config_;
  BeamSearch beam_;
};

}  // namespace tandem
