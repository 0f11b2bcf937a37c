// What all searches have in common.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "base/stop_signal.h"
#include "tandem/domain.h"

namespace tandem {

/// Why a search ended.
enum class Ended {
  kSolved,       ///< with a solution that the search would not improve on
  kExhausted,    ///< every state that it may look at has been looked at
  kLengthLimit,  ///< at the depth to give up at
  kNodeLimit,
  kTimeLimit,
};

/// For messages and files: "solved", "exhausted", "length limit", "node limit", "time limit".
const char* Name(Ended ended);

/// How far a search came that found no solution: to the state of least estimate.
struct Partial {
  std::vector<Action> actions;  ///< from the start
  float cost = 0;               ///< of these actions
  float estimate = 0;           ///< the cost-to-go from there, as the evaluator sees it
};

struct SearchResult {
  bool solved = false;
  Ended ended = Ended::kExhausted;
  std::vector<Action> actions;  ///< from the start to a goal, if solved
  float cost = 0;               ///< of these actions

  /// Where no solution was found and anything was estimated.
  std::optional<Partial> best;

  std::int64_t nodes = 0;     ///< states generated
  std::int64_t expanded = 0;  ///< states whose children were generated, each time counted
  std::int64_t stored = 0;    ///< different states kept in memory at the end
  std::int64_t bytes = 0;     ///< of memory, for the states stored
  double seconds = 0;         ///< from its start to its end, others' work between them included
};

/// A way to look for solutions. One call at a time; memory is kept for the next.
///
/// Uses the TBB threads of the arena it is called in; the evaluator is called between, from the
/// calling thread.
class Search {
 public:
  /// Called from the calling thread as each puzzle ends, with its number among the starts.
  using Done = std::function<void(std::size_t number, SearchResult result)>;

  virtual ~Search() = default;
  Search(const Search&) = delete;
  Search& operator=(const Search&) = delete;

  /// Looks for a solution from each start. Throws Stopped once `stop` is reached; puzzles that are
  /// not done by then are given up. Throws Error if an estimate is not a number.
  virtual void SolveAll(ConstRows starts, const StopSignal& stop, const Done& done) = 0;

  /// The same for one start.
  SearchResult Solve(std::span<const std::uint8_t> start, const StopSignal& stop);

 protected:
  Search() = default;
};

/// What a sequence of actions costs.
float CostOf(const DomainSpec& spec, std::span<const Action> actions);

}  // namespace tandem
