// Beam search that widens its beam while time remains.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "config/config.h"
#include "search/beam_search.h"
#include "search/goal_ball.h"
#include "search/search.h"
#include "tandem/domain.h"
#include "tandem/evaluator.h"

namespace tandem {

/// Returns the width of the next beam, after a beam of `width` took `spent` seconds, or generated
/// `spent` states, and `remaining` of them are left. Takes the work of a search as proportional to
/// its width, and chooses a width whose search should end within what remains: at most 8 times
/// `width`, because short searches predict badly, and at most `widest`. Returns nothing if `width`
/// is `widest` already, or if what remains does not suffice for twice the width.
std::optional<std::int64_t> NextWidth(std::int64_t width, double spent, double remaining,
                                      std::int64_t widest);

/// AnytimeBeamSearch repeats BeamSearch with wider and wider beams within search.max_seconds, and
/// keeps the cheapest solution, without detours (complete anytime beam search; Zhang 1998). The
/// first beam holds 64 states, or search.beam_width if that is less. NextWidth gives the others;
/// none is wider than search.beam_width. Once there is a solution, a search looks only for cheaper
/// ones.
///
/// The search ends when the beam of search.beam_width is done, when no cheaper solution is
/// possible, when a wider beam would keep the same states, or when the time or the remaining nodes
/// of search.max_nodes do not suffice for a wider beam. In the last case, `stop_reason` is
/// kTimeLimit or kNodeLimit, with or without a solution; kMemoryLimit says that a beam reached
/// search.max_gib. How wide the last beam is depends on the speed of the machine, so results do not
/// repeat unless the nodes run out first.
///
/// Puzzles are solved one after another.
class AnytimeBeamSearch final : public Search {
 public:
  /// Follows config.search, whose max_seconds must be above 0. The other parameters are those of
  /// BeamSearch.
  AnytimeBeamSearch(const Domain& domain, Evaluator& network, const Config& config,
                    std::shared_ptr<const GoalBall> ball = nullptr);

  void SolveAll(const ProblemBatch& problems, const StopSignal& stop, const Done& done) override;

  std::string Describe() const override;
  std::string_view MainKey() const override { return beam_.MainKey(); }
  std::string Failure(const SearchResult& result) const override;

 private:
  SearchResult SolveOne(std::span<const std::uint8_t> start, float at_most, const StopSignal& stop);

  const Domain& domain_;
  const SearchConfig config_;
  BeamSearch beam_;
};

}  // namespace tandem
