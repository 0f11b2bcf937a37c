// Files of problems, for solving and validation, and the check of their solutions.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/stop_signal.h"
#include "report/evaluation.h"
#include "search/search.h"
#include "tandem/domain.h"

namespace tandem {

/// Problem is one state of the file. If its line is wrong, `error` says why and `state` is empty.
struct Problem {
  nlohmann::json id;  ///< `id` of the line or name of the level, or else the line number
  std::string text;   ///< the state as it was written
  std::vector<std::uint8_t> state;
  std::optional<int> optimal;     ///< length of a shortest solution, if the line has it
  std::optional<int> best_known;  ///< length of the best published solution, if the line has it
  float at_most = 0;              ///< largest allowed cost of a solution; 0: no limit
  std::vector<Action> solution;   ///< a solution that is known; empty: none
  /// Of a game, if the line has them: the moves that keep the position's value, and its stones.
  std::vector<Action> best_moves;
  std::optional<int> stones;
  std::string error;
};

/// Reads at most `limit` states from a file. Each line is a JSON object with `id`, `state`, `goal`,
/// `optimal`, `best_known`, `at_most` and `solution`, for games `best_moves` and `stones`, or a
/// state in plain text. Blank lines and lines that begin with '#' are skipped. For puzzles whose
/// states may have several lines (Sokoban), empty lines and lines of text (Domain::IsStateLine)
/// separate plain-text states, and text can name them. The log says how ambiguous states were
/// understood (Domain::Reading). Throws InputError if the file cannot be read, has no state or has
/// more than 10 million.
std::vector<Problem> ReadStates(const std::filesystem::path& path, const Domain& domain,
                                std::optional<std::int64_t> limit);

/// Does SolveAndReplay for the problems that have a valid state. Calls `done` with the index of the
/// problem in `problems`. Throws what SolveAndReplay does.
void SolveProblems(const std::vector<Problem>& problems, const Domain& domain, Search& search,
                   const StopSignal& stop, const Search::Done& done);

/// Search::SolveAll that leaves detours out of every solution of a puzzle (WithoutDetours) and
/// replays it. Throws the same errors as CheckByReplay, too.
void SolveAndReplay(const Domain& domain, Search& search, const ProblemBatch& problems,
                    const StopSignal& stop, const Search::Done& done);

/// Does SolveAndReplay for one state, and returns the result.
SearchResult SolveAndReplay(const Domain& domain, Search& search,
                            std::span<const std::uint8_t> state, const StopSignal& stop);

/// Throws Error if the moves do not lead to a goal, which means a bug in the search or the domain.
void CheckByReplay(const Domain& domain, std::span<const std::uint8_t> start,
                   const std::vector<Action>& actions);

/// Returns the outcome of searching for a solution of `problem`, without an estimate.
SolveOutcome OutcomeOf(const Problem& problem, const SearchResult& search);

}  // namespace tandem
