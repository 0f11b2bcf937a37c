// Files of problems, for solving and validation, and the check of their solutions.
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/stop_signal.h"
#include "search/search.h"
#include "tandem/domain.h"
#include "tandem/error.h"

namespace tandem {

/// Returns the text of an error about a line: "FILE:7: WHAT".
std::string AtLine(std::string_view file, std::size_t number, std::string_view what);

/// JsonLines goes through the lines of a text. It skips blank lines and lines that begin with '#'.
class JsonLines {
 public:
  /// Begins before the first line. `file` names the file in errors.
  JsonLines(std::string file, std::string text) : file_(std::move(file)), in_(std::move(text)) {}

  /// Goes to the next line. Returns false at the end of the text.
  bool Next();

  /// The number of the line, from 1, and its text without white space at its ends.
  std::size_t number() const { return number_; }
  std::string_view text() const { return text_; }

  /// Returns read(object) for the JSON object on the line. If the line is not an object, or if
  /// `read` throws InputError, throws InputError that begins with the file and the line.
  template <class Read>
  auto ReadObject(const Read& read) const {
    try {
      return read(ParseJsonObject(text_));
    } catch (const InputError& error) {
      throw InputError(AtLine(file_, number_, error.what()));
    }
  }

 private:
  const std::string file_;
  std::istringstream in_;
  std::string line_;
  std::string_view text_;  // of line_
  std::size_t number_ = 0;
};

/// Returns the number above 0 and at most `most` that `object` has as `key`. If the key is missing
/// or null, returns nothing. A number that `Number` rounds to 0 is not above 0. For other values,
/// throws as ThrowWrongEntry does.
template <class Number>
std::optional<Number> ReadPositiveNumber(const nlohmann::json& object, const char* key,
                                         double most) {
  if (!HasValue(object, key)) return std::nullopt;
  const nlohmann::json& value = object[key];
  const double exact = value.is_number() ? value.get<double>() : 0;
  const Number number = exact <= most ? static_cast<Number>(exact) : Number{0};
  if (number > 0) return number;
  ThrowWrongEntry(object, key, fmt::format("a number above 0 and at most {:.0f}", most));
}

/// Problem is one state of the file. If the line cannot be read, `error` says why and `state` is
/// empty.
struct Problem {
  nlohmann::json id;  ///< `id` of the line or name of the level, or else the line number
  std::string text;   ///< the state as it was written
  std::vector<std::uint8_t> state;
  std::optional<int> optimal;     ///< length of a shortest solution, if the line has it
  std::optional<int> best_known;  ///< length of the best published solution, if the line has it
  float at_most = 0;              ///< largest allowed cost of a solution; 0: no limit
  std::vector<Action> solution;   ///< a solution that is known; empty: none
  std::string error;
};

/// Reads at most `limit` states from a file. Each line is a JSON object with `id`, `state`, `goal`,
/// `optimal`, `best_known`, `at_most` and `solution`, or a state in plain text. Blank lines and
/// lines that begin with '#' are skipped. For puzzles whose states may have several lines
/// (Sokoban), empty lines and lines of text (Domain::IsStateLine) separate plain-text states, and
/// text can name them. A line of spaces then belongs to a state. The log says how states were
/// understood that could also mean something else (Domain::Reading).
/// Throws InputError if the file cannot be read, has no state or has more than 10 million.
std::vector<Problem> ReadStates(const std::filesystem::path& path, const Domain& domain,
                                std::optional<std::int64_t> limit);

/// Searches for a solution of each problem that has a valid state, and replays every solution.
/// Calls `done` with the index of the problem in `problems`. Throws Stopped once `stop` is reached,
/// and the same errors as Search::SolveAll and CheckByReplay.
void SolveProblems(const std::vector<Problem>& problems, const Domain& domain, Search& search,
                   const StopSignal& stop, const Search::Done& done);

/// Search::SolveAll that replays every solution. Throws the same errors as CheckByReplay, too.
void SolveAndReplay(const Domain& domain, Search& search, const ProblemBatch& problems,
                    const StopSignal& stop, const Search::Done& done);

/// Throws Error if the moves do not lead to a goal, which means a bug in the search or the domain.
void CheckByReplay(const Domain& domain, std::span<const std::uint8_t> start,
                   const std::vector<Action>& actions);

}  // namespace tandem
