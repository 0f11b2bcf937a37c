// The interface of all searches and their results.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/stop_signal.h"
#include "config/config.h"
#include "tandem/domain.h"
#include "tandem/evaluator.h"

namespace tandem {

/// Why a search ended.
enum class Ended {
  kSolved,       ///< a solution was found that the search cannot improve
  kExhausted,    ///< no states are left to expand
  kLengthLimit,  ///< the maximum depth was reached
  kNodeLimit,    ///< the maximum number of stored states was reached
  kTimeLimit,    ///< the time limit was reached
};

/// The name used in messages and files: "solved", "exhausted", "length limit", "node limit" or
/// "time limit".
const char* Name(Ended ended);

/// Partial is the best path of a search that found no solution. It leads to the state with the
/// least estimate.
struct Partial {
  std::vector<Action> actions;  ///< from the start
  float cost = 0;               ///< cost of `actions`
  float estimate = 0;           ///< estimated cost-to-go of the state they lead to
};

/// SearchResult is the outcome of the search of one puzzle.
struct SearchResult {
  bool solved = false;
  Ended ended = Ended::kExhausted;
  std::vector<Action> actions;  ///< from the start to a goal, if solved
  float cost = 0;               ///< cost of `actions`

  /// The number of actions of the solution before it was shortened (search.improve_seconds).
  std::optional<std::size_t> found_length;

  /// Set if no solution was found and at least one state was evaluated.
  std::optional<Partial> best;

  std::int64_t nodes = 0;     ///< states generated
  std::int64_t expanded = 0;  ///< expansions; a state that is expanded twice counts twice
  std::int64_t stored = 0;    ///< distinct states in memory at the end
  std::int64_t bytes = 0;     ///< memory of the stored states, in bytes
  double seconds = 0;         ///< wall time, including work on puzzles solved at the same time
};

/// Search is the interface of the search algorithms. Not thread-safe. Memory is reused by the next
/// call.
///
/// A search uses the TBB threads of the caller's arena. It calls the evaluator on the calling
/// thread, never inside a TBB task.
class Search {
 public:
  /// Called on the thread that called SolveAll when a puzzle ends. `number` is the index of the
  /// puzzle in `starts`.
  using Done = std::function<void(std::size_t number, SearchResult result)>;

  virtual ~Search() = default;
  Search(const Search&) = delete;
  Search& operator=(const Search&) = delete;

  /// Searches for a solution from each start. Throws Stopped once `stop` is reached; puzzles that
  /// have not ended by then are given up. Throws Error if an estimate is NaN.
  virtual void SolveAll(ConstRows starts, const StopSignal& stop, const Done& done) = 0;

  /// Searches for a solution from one start and returns its result.
  SearchResult Solve(std::span<const std::uint8_t> start, const StopSignal& stop);

 protected:
  Search() = default;
};

/// Creates the search that search.method and network.head select, with the ball of
/// search.ball_radius and the shortening of search.improve_seconds. `domain` and `network` must
/// outlive the result. Throws InputError if the puzzle has no such ball.
std::unique_ptr<Search> MakeSearch(const Domain& domain, QEvaluator& network, const Config& config);

/// The cost of a sequence of actions.
float CostOf(const DomainSpec& spec, std::span<const Action> actions);

}  // namespace tandem
