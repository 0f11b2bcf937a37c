// The interface of all searches and their results.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/stop_signal.h"
#include "config/choices.h"
#include "config/config.h"
#include "tandem/domain.h"
#include "tandem/evaluator.h"

namespace tandem {

/// StopReason says why a search ended. Messages and files use the names of the table.
enum class StopReason {
  kSolved,
  kExhausted,
  kLengthLimit,
  kNodeLimit,
  kMemoryLimit,
  kTimeLimit,
  kCostLimit,
};
inline constexpr auto kStopReasons = std::to_array<Choice<StopReason>>({
    {StopReason::kSolved, "solved", "a solution was found that the search cannot improve"},
    {StopReason::kExhausted, "exhausted", "no states are left to expand"},
    {StopReason::kLengthLimit, "length limit", "the maximum depth was reached"},
    {StopReason::kNodeLimit, "node limit", "search.max_nodes was reached"},
    {StopReason::kMemoryLimit, "memory limit", "search.max_gib was reached"},
    {StopReason::kTimeLimit, "time limit", "the time limit was reached"},
    {StopReason::kCostLimit, "cost limit",
     "every solution through the remaining states costs more than is allowed"},
});
inline std::string_view NameOf(StopReason reason) { return NameOf(kStopReasons, reason); }

/// The limit that a search for one puzzle exceeds with `nodes` generated states or `bytes` bytes of
/// memory: search.max_nodes, search.max_gib or nothing.
std::optional<StopReason> WorkLimitExceeded(const SearchConfig& config, std::int64_t nodes,
                                            std::int64_t bytes);

/// Partial is the best path of a search without a solution: the one to the least estimate.
struct Partial {
  std::vector<Action> actions;  ///< from the start
  float cost = 0;               ///< cost of `actions`
  float estimate = 0;           ///< estimated cost-to-go of the state they lead to
};

/// SearchResult is the outcome of the search of one puzzle.
struct SearchResult {
  bool solved = false;
  StopReason stop_reason = StopReason::kExhausted;
  std::vector<Action> actions;  ///< from the start to a goal, if solved; of a game, its moves
  float cost = 0;               ///< cost of `actions`

  /// Set if no solution was found and at least one state was evaluated. Of a game, the best move.
  std::optional<Partial> best;

  /// Whether states were dropped that may lead to a solution: those for which a beam had no room
  /// and, by IDA*, those with an infinite estimate.
  bool dropped_states = false;

  /// States generated: results of actions that apply. Beam search and Q* do not take the action
  /// that undoes the last one of a path.
  std::int64_t nodes = 0;
  std::int64_t expanded = 0;  ///< expansions; a state that is expanded twice counts twice
  std::int64_t stored = 0;    ///< distinct states in memory at the end
  std::int64_t bytes = 0;     ///< memory of the stored states, in bytes
  double seconds = 0;         ///< wall time, divided among puzzles that are searched together
};

/// ProblemBatch refers to the states to solve, and the largest allowed cost of a solution of each.
struct ProblemBatch {
  // NOLINTNEXTLINE(google-explicit-constructor): rows alone are a batch
  ProblemBatch(ConstRows states, std::span<const float> at_most = {})
      : states(states), at_most(at_most) {}

  std::size_t size() const { return states.size(); }

  /// The problems [first, first + count).
  ProblemBatch Slice(std::size_t first, std::size_t count) const {
    return {states.Slice(first, count), at_most.empty() ? at_most : at_most.subspan(first, count)};
  }

  /// The largest allowed cost of a solution of problem i, which is also at most `limit`. 0: no
  /// limit, here and in `limit` and `at_most`.
  float AtMost(std::size_t i, double limit) const;

  ConstRows states;
  std::span<const float> at_most;  ///< one for each state, or empty
};

class GoalBall;

/// Search is the interface of the search algorithms. Not thread-safe. Memory is reused.
///
/// A search follows config.search. `domain` and `network`, with which it is made, must outlive it.
/// A search for puzzles passes at most RowsPerCall states per call to the network. The ball may be
/// null.
///
/// A search uses the TBB threads of the caller's arena. It calls the evaluator on the calling
/// thread, never inside a TBB task.
class Search {
 public:
  /// Called on the thread of SolveAll when puzzle `number` of the problems ends.
  using Done = std::function<void(std::size_t number, SearchResult result)>;

  virtual ~Search() = default;
  Search(const Search&) = delete;
  Search& operator=(const Search&) = delete;

  /// Searches for a solution from each start. Throws Stopped once `stop` is reached; puzzles that
  /// have not ended by then are given up. Throws Error if an estimate is NaN.
  virtual void SolveAll(const ProblemBatch& problems, const StopSignal& stop, const Done& done) = 0;

  /// Searches for a solution from one start and returns its result.
  SearchResult Solve(std::span<const std::uint8_t> start, const StopSignal& stop);

  /// Names the search and its main setting: "beam search with width 4,096".
  virtual std::string Describe() const = 0;

  /// The key of the config that most decides how long the search takes and how short its solutions
  /// are: "search.beam_width". Empty if there is none.
  virtual std::string_view MainKey() const = 0;

  /// Says why the search of a puzzle found no solution, and which keys to change: "no solution
  /// found in 5 s (search.max_seconds); raise search.max_seconds". Requires that `result` is of
  /// this search and is not solved.
  virtual std::string Failure(const SearchResult& result) const = 0;

 protected:
  Search() = default;

  // Returns the text of Failure if a limit on time, nodes or memory ended the search: to raise it,
  // or to follow `advice` first, such as "lower search.weight, or ". `max_nodes` is the limit on
  // nodes if it is not search.max_nodes. Returns "" if the search ended otherwise.
  static std::string AtLimit(const SearchConfig& config, StopReason reason,
                             std::string_view advice = "",
                             std::optional<std::int64_t> max_nodes = std::nullopt);

  // Reasons of failures that several searches have.
  static std::string NotInTime(const SearchConfig& config);
  static std::string NotAmongProbable(const SearchConfig& config);  // of search.policy_actions
  // "what is allowed", and by which keys
  static std::string AllowedCost() {
    return "what is allowed (search.at_most, or `at_most` or `solution` of the state)";
  }

  // Returns the text of Failure for any beam search with `config`.
  static std::string BeamFailure(const SearchConfig& config, const SearchResult& result);
};

/// Creates the search that search.method selects, with the ball of search.ball_radius. What it
/// ranks by follows from what `network` gives (RankingOf). For A* and Q*, logs how much memory the
/// node limit takes. Throws Error if `network` does not give what the search needs, and InputError
/// if the puzzle has no such ball, or no inverse positions for search.inverse. `ball` shares a ball
/// that exists already; if it is null, the search has the ball of search.ball_radius.
std::unique_ptr<Search> MakeSearch(const Domain& domain, Evaluator& network, const Config& config,
                                   std::shared_ptr<const GoalBall> ball = nullptr);

/// Make the search of one method, for MakeSearch. `ball` is null if the search has no ball.
using SearchMaker = std::unique_ptr<Search>(const Domain& domain, Evaluator& network,
                                            const Config& config,
                                            std::shared_ptr<const GoalBall> ball);
SearchMaker MakeAStar, MakeQStar, MakeIdaStar, MakeBeamSearch, MakeAnytimeBeamSearch,
    MakeGreedySearch;

/// Throws InputError that names `key` if `width` states of a puzzle have more than `most_children`
/// children. Call it before a beam search is made with a width that another key sets, because its
/// own error names search.beam_width.
void CheckBeamWidth(const DomainSpec& spec, std::int64_t width, std::string_view key,
                    std::int64_t most_children = std::numeric_limits<std::uint32_t>::max());

/// The cost of a sequence of actions.
float CostOf(const DomainSpec& spec, std::span<const Action> actions);

/// Applies a sequence of actions to one state.
void ApplyAll(const Domain& domain, std::span<const Action> actions, std::span<std::uint8_t> state);

/// Returns `actions` without detours; they lead from `start` to the same state as before. A detour
/// is a part that ends in the state where it began. An action is also a detour if the solution
/// without it soon meets one of its own later states, as when two presses of a button in Lights Out
/// have other presses between them. Only the 256 actions after an action are looked at.
///
/// The time grows in proportion to the length of the solution. There is no search, so parts that
/// other actions could replace stay.
std::vector<Action> WithoutDetours(const Domain& domain, std::span<const std::uint8_t> start,
                                   const std::vector<Action>& actions);

}  // namespace tandem
