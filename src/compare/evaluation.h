// Evaluations of networks: how well each solves given states.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "compare/solve_figures.h"

namespace tandem {

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

/// Returns a table with a line for each known length. Requires `known` in `figures`.
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
