// A search whose solutions are shortened.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/stop_signal.h"
#include "config/config.h"
#include "search/goal_ball.h"
#include "search/path_beams.h"
#include "search/search.h"
#include "search/solution_improver.h"
#include "tandem/domain.h"

namespace tandem {

/// ImprovingSearch shortens the solutions of another search: it leaves out their detours, and then
/// works on each for up to search.improve_seconds (SolutionImprover).
/// If that search finds none, it shortens the one that the ProblemBatch has, if any. If that
/// still costs more than allowed, the puzzle is unsolved, and `stop_reason` and `best` are those of
/// the search. search.max_nodes, unless it is auto or 0, limits the nodes of both together. A* and
/// Q*, whose limit counts stored states, leave shortening a limit of its own, of as many generated
/// states.
///
/// It passes as many puzzles at a time to that search as search.instances says, so that the time
/// limits of the search do not count the time for shortening.
class ImprovingSearch final : public Search {
 public:
  /// `domain` must outlive this. `ball` and `beams` may be null, as for SolutionImprover.
  ImprovingSearch(const Domain& domain, std::unique_ptr<Search> search,
                  std::shared_ptr<const GoalBall> ball, const SearchConfig& config,
                  std::unique_ptr<PathBeams> beams);

  void SolveAll(const ProblemBatch& problems, const StopSignal& stop, const Done& done) override;

  std::string Describe() const override;
  std::string_view MainKey() const override { return search_->MainKey(); }
  std::string Failure(const SearchResult& result) const override {
    return search_->Failure(result);
  }

 private:
  void Shorten(std::span<const std::uint8_t> start, SearchResult& result, const StopSignal& stop);
  void ShortenGiven(const ProblemBatch& problems, std::size_t number, SearchResult& result,
                    const StopSignal& stop);
  std::optional<std::int64_t> NodesFor(const SearchResult& result) const;

  const Domain& domain_;
  const std::unique_ptr<Search> search_;
  const SearchConfig config_;
  SolutionImprover improver_;
};

}  // namespace tandem
