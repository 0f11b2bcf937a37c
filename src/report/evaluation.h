// What a solver achieved on a set of problems.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tandem {

/// Returns of(*value), or nothing if there is no value.
template <class Value, class Of>
std::optional<double> IfKnown(const std::optional<Value>& value, const Of& of) {
  return value ? std::optional<double>(std::invoke(of, *value)) : std::nullopt;
}

/// SolveOutcome is the result of searching for a solution of one state with one network.
struct SolveOutcome {
  bool solved = false;      ///< of a position of a game: the chosen move keeps its value
  std::int64_t length = 0;  ///< moves of the solution, if solved
  std::int64_t nodes = 0;   ///< states that the search generated
  double seconds = 0;       ///< wall time of the search
  std::optional<std::int64_t> optimal = std::nullopt;  ///< length of a shortest solution, if known
  double cost = 0;  ///< cost of a shortest solution; only with `estimate`

  /// Length of the shortest solution that anyone has published, if `optimal` is not known.
  std::optional<std::int64_t> best_known = std::nullopt;

  /// The network's estimate of `cost`. Nothing if the network is a policy, or if moves differ in
  /// cost, so that `optimal` does not tell the cost.
  std::optional<double> estimate = std::nullopt;

  /// Of a position of a game: its number of stones, if known.
  std::optional<std::int64_t> stones = std::nullopt;
};

/// EstimateFigures compares estimates with the costs of shortest solutions.
struct EstimateFigures {
  double mean = 0;   ///< mean estimate
  double error = 0;  ///< root mean square of estimate minus cost
};

/// LengthFigures holds the figures of the states whose shortest solutions have one length, or of
/// the positions of a game with `length` stones.
struct LengthFigures {
  std::int64_t length = 0;
  std::int64_t states = 0;
  std::int64_t solved = 0;
  std::optional<EstimateFigures> estimates;  ///< nothing for a policy

  double solve_rate() const;
};

/// KnownLengthFigures holds the figures of the states whose `optimal` is known.
struct KnownLengthFigures {
  std::int64_t states = 0;
  std::int64_t optimal = 0;                  ///< states that were solved by a shortest solution
  double mean_length = 0;                    ///< mean length of the shortest solutions
  std::optional<EstimateFigures> estimates;  ///< nothing for a policy
  std::vector<LengthFigures> by_length;      ///< sorted by length

  double share_optimal() const;
};

/// BestKnownFigures compares solutions with the best ones that are known. Only solved states with
/// `best_known` count.
struct BestKnownFigures {
  std::int64_t states = 0;
  double mean_ratio = 0;  ///< mean of length divided by best known length
};

/// SolveFigures summarises how states were solved.
struct SolveFigures {
  std::int64_t states = 0;
  std::int64_t solved = 0;
  double mean_length = 0;  ///< of the solutions found; 0 if there are none
  std::int64_t nodes = 0;
  double seconds = 0;  ///< wall time of all searches
  double slowest_s = 0;
  std::optional<KnownLengthFigures> known;     ///< nothing if no state has `optimal`
  std::optional<BestKnownFigures> best_known;  ///< nothing if no solved state has `best_known`
  bool is_game = false;                  ///< `solved` counts positions whose value the move keeps
  std::vector<LengthFigures> by_stones;  ///< of positions with `stones`, sorted by stones

  double solve_rate() const;
  double nodes_per_s() const;
  double mean_s() const;
};

/// Summarises `outcomes`. `seconds` is the wall time that all searches took together.
SolveFigures Summarise(std::span<const SolveOutcome> outcomes, double seconds);

/// Returns whether `figures` are better than `than`: more states solved; if equal, shorter
/// solutions; if equal, fewer nodes. Requires that both are of the same states.
bool SolvesBetter(const SolveFigures& figures, const SolveFigures& than);

/// EvaluatedNetwork is a network of a run with its figures.
struct EvaluatedNetwork {
  std::string name;             ///< name of the row: "untrained", "update 100", "last"
  std::filesystem::path file;   ///< checkpoint; empty if untrained
  std::int64_t iterations = 0;  ///< iterations that it was trained for

  /// Examples that it was trained on, and wall time from the start of its run until then. Nothing
  /// if the checkpoint is not of this run.
  std::optional<std::int64_t> examples;
  std::optional<double> trained_s;

  bool complete = true;  ///< false if the evaluation was stopped before all states were done
  SolveFigures figures;
};

/// Returns the index of the complete network that solves best, the first of equals. Returns nothing
/// if no network is complete.
std::optional<std::size_t> BestBySolving(std::span<const EvaluatedNetwork> networks);

/// Fewest states for choosing a network. A solve rate of 50 % of them has a standard error of 5
/// percentage points; with fewer states, chance often decides which network is best.
inline constexpr std::int64_t kFewestStatesToChoose = 100;

/// Returns a table: a line for each network and a column for each measure. Measures that need known
/// lengths are left out if no state has one.
std::string EvaluationTable(std::span<const EvaluatedNetwork> networks);

/// Returns a table with a line for each known length or, of a game, for each number of stones.
/// Returns "" if none is known.
std::string ByLengthTable(const SolveFigures& figures);

/// Returns the JSON object of a network. docs/guide/evaluate.md lists its keys.
nlohmann::ordered_json ToJson(const EvaluatedNetwork& network);

inline constexpr int kEvaluationSchema = 1;  ///< number of the layout of EvaluationFile

/// EvaluationFile holds what `tandem evaluate --json` wrote.
struct EvaluationFile {
  std::string states;  ///< file of the states
  std::string search;  ///< name of the search method
  std::vector<EvaluatedNetwork> networks;
  std::optional<std::size_t> best;  ///< index of the network that solves best
};

/// Reads a file that `tandem evaluate --json` wrote. Throws InputError that names the file, and the
/// missing entry or a larger schema than this program knows.
EvaluationFile ReadEvaluation(const std::filesystem::path& file);

}  // namespace tandem
