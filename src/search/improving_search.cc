#include "search/improving_search.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <utility>
#include <vector>

#include "base/stopwatch.h"
#include "base/text.h"
#include "search/cost_bound.h"
#include "search/detours.h"

namespace tandem {
namespace {

// The width of anytime_beam is a limit, and its last beam may have been much narrower.
std::int64_t FirstWidth(const SearchConfig& config) {
  constexpr std::int64_t kNarrow = 128;
  const bool is_limit = config.method == SearchMethod::kAnytimeBeam;
  return is_limit ? std::min(kNarrow, config.beam_width) : 2 * config.beam_width;
}

}  // namespace

ImprovingSearch::ImprovingSearch(const Domain& domain, std::unique_ptr<Search> search,
                                 std::shared_ptr<const GoalBall> ball, const SearchConfig& config,
                                 std::unique_ptr<PathBeams> beams)
    : domain_(domain),
      search_(std::move(search)),
      config_(config),
      improver_(domain, std::move(ball), std::move(beams), FirstWidth(config)) {}

std::string ImprovingSearch::Describe() const {
  return fmt::format("{}, with solutions shortened for up to {}", search_->Describe(),
                     HumanSeconds(config_.improve_seconds));
}

void ImprovingSearch::SolveAll(const ProblemBatch& problems, const StopSignal& stop,
                               const Done& done) {
  const auto at_once = static_cast<std::size_t>(config_.instances);
  for (std::size_t first = 0; first < problems.size(); first += at_once) {
    std::vector<std::pair<std::size_t, SearchResult>> results;
    std::exception_ptr failure;  // or a stop; what was solved until then is reported
    try {
      search_->SolveAll(problems.Slice(first, std::min(at_once, problems.size() - first)), stop,
                        [&](std::size_t number, SearchResult result) {
                          results.emplace_back(first + number, std::move(result));
                        });
    } catch (...) {
      failure = std::current_exception();
    }
    for (auto& [number, result] : results) {
      if (result.solved) {
        Shorten(problems.states[number], result, stop);
      } else if (!problems.solutions.empty() && !problems.solutions[number].empty()) {
        ShortenGiven(problems, number, result, stop);
      }
      done(number, std::move(result));
    }
    if (failure) std::rethrow_exception(failure);
  }
}

void ImprovingSearch::Shorten(std::span<const std::uint8_t> start, SearchResult& result,
                              const StopSignal& stop) {
  const Stopwatch watch;
  result.found_length = result.actions.size();
  result.actions = WithoutDetours(domain_, start, result.actions);
  if (const std::optional<std::int64_t> nodes = NodesFor(result)) {
    // A* and Q* find solutions of any length.
    const std::int64_t max_length = IsBestFirst(config_.method) ? kAnyLength : config_.max_length;
    SolutionImprover::Improved improved = improver_.Improve(
        start, std::move(result.actions), config_.improve_seconds, stop, *nodes, max_length);
    result.actions = std::move(improved.actions);
    result.nodes += improved.nodes;
  }
  result.cost = CostOf(domain_.spec(), result.actions);
  result.seconds += watch.Seconds();
}

// Takes the given solution of a puzzle that the search has not solved. If it still costs too much
// when it is shortened, only the work counts, and the result says why the search found none.
void ImprovingSearch::ShortenGiven(const ProblemBatch& problems, std::size_t number,
                                   SearchResult& result, const StopSignal& stop) {
  SearchResult given = result;
  given.solved = true;
  given.stop_reason = StopReason::kSolved;
  given.actions = problems.solutions[number];
  given.best.reset();
  Shorten(problems.states[number], given, stop);
  if (CostBound(problems.AtMost(number, config_.at_most)).Excludes(given.cost)) {
    result.nodes = given.nodes;
    result.seconds = given.seconds;
  } else {
    result = std::move(given);
  }
}

// The number of states that shortening may generate, 0 for no limit; nothing if none are left. The
// limit of A* and Q* counts the states that they store, so it says nothing about those generated
// since.
std::optional<std::int64_t> ImprovingSearch::NodesFor(const SearchResult& result) const {
  const std::int64_t most = config_.max_nodes.value_or(0);
  if (most == 0 || IsBestFirst(config_.method)) return most;
  if (result.nodes >= most) return std::nullopt;
  return most - result.nodes;
}

}  // namespace tandem
