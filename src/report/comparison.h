// Compares variants of a config by the runs that were trained with them: as a table, as JSON, in
// sentences and as a figure.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/load.h"
#include "report/run_record.h"

namespace tandem {

/// Variation is one `--vary KEY=V1,V2`: runs are made with each value of the key.
struct Variation {
  std::string key;
  std::vector<std::string> values;  ///< at least two, all different
};

/// Parses "KEY=V1,V2". Throws InputError that says what was expected.
Variation ParseVariation(std::string_view text);

/// Variant is one row of a comparison: a mode and the values of varied keys. It runs once per
/// seed.
struct Variant {
  std::string name;  ///< name of the row: "async", "async prefetch.depth=4"
  std::string mode;
  std::vector<std::pair<std::string, std::string>> varied;  ///< key and value
  bool aligned_lag = false;  ///< sequential with the policy lag of async, 1

  /// Returns the overrides for `tandem train`.
  std::vector<Override> Overrides() const;

  /// Returns the name as a folder name, with only letters, digits, '.', '-' and '='.
  std::string FolderName() const;
};

/// Parses the numbers of `--seeds`, such as "1,2", and returns each as the shortest text: "1" for
/// "01". Throws InputError that says what was expected, or that a number comes twice.
std::vector<std::string> ParseSeeds(std::string_view text);

/// Returns every combination of modes and varied values. Modes vary fastest.
std::vector<Variant> MakeVariants(std::span<const std::string> modes,
                                  std::span<const Variation> variations);

/// Spread holds the median and the range of some values.
struct Spread {
  double median = 0;
  double least = 0;
  double most = 0;
};

/// Returns the spread of one or more values, or nothing if one of them is missing.
std::optional<Spread> SpreadOf(std::span<const std::optional<double>> values);

/// Returns the p-value of a paired permutation test: the probability of a mean at least as far from
/// 0 as that of `differences`, if chance alone decides the sign of each difference. Exact up to
/// kExactPairs pairs; beyond that, estimated from a million random choices of signs, with at most
/// 64 pairs.
///
/// With n pairs it is at least 2 / 2^n: 0.5 for 2, 0.25 for 3, 0.0625 for 5. It is 1 if all
/// differences are 0.
double ChanceOf(std::span<const double> differences);

inline constexpr std::size_t kExactPairs = 20;

/// Ideal is the shortest time in which perfect overlap could do the work of a run, without the cold
/// start: the largest of the critical paths of the generator and of the main thread, and of the
/// demand for each resource (core-seconds over cores; seconds that the GPU is busy). The side that
/// it belongs to is the busiest. A busy GPU may run slow kernels, and a busy core may spin.
struct Ideal {
  double seconds = 0;
  std::string side;  ///< "generator", "training", "cores" or "GPU"
};
Ideal IdealOf(const RunRecord& run);

/// VariantRuns holds the runs of a variant, one for each seed, in the order of the seeds.
struct VariantRuns {
  Variant variant;
  std::vector<RunRecord> runs;
};

/// Returns whether the networks of `runs` and `others` have the same weights for each seed.
bool EqualWeights(const VariantRuns& runs, const VariantRuns& others);

/// RowEntry is one result of a variant: a cell of the table, an entry of the JSON, or both.
struct RowEntry {
  std::string name;             ///< of its line in the table; "": not in the table
  std::string key;              ///< in the JSON
  std::string cell;             ///< "-" if there is no value
  nlohmann::ordered_json json;  ///< null if there is no value
  const char* why_missing = "";
};

/// Compared is a result by which variants are judged.
struct Compared {
  std::optional<Spread> spread;
  /// Probability that chance alone makes as large a difference from the first row (ChanceOf).
  /// Nothing in the first row.
  std::optional<double> chance;
};

/// Row holds the results of one variant over the seeds, without the cold start.
struct Row {
  Variant variant;
  std::vector<RowEntry> entries;   ///< the same ones, in the same order, in each row
  Compared speed_up;               ///< relative to the first row, seed by seed
  Compared solve_rate;             ///< after all iterations
  Compared solve_rate_equal_time;  ///< when the first run of the seed ended
};

/// Returns a row for each variant. The first variant is the baseline of the speed-ups. Requires at
/// least one variant, and the same number of runs of each.
std::vector<Row> Compare(std::span<const VariantRuns> variants);

/// Fewest seeds for a verdict. Even if all of four seeds agree, chance alone makes them agree in
/// one of eight cases.
inline constexpr std::size_t kMinSeeds = 5;

/// Fewest seeds with which chance alone can be less likely than 5 %.
inline constexpr std::size_t kEnoughSeeds = 6;

/// Returns a sentence for each row after the first, which says how it differs from the first and
/// how often chance alone makes such a difference: if in more than 10 % of cases, that no
/// difference was shown. The last sentence says which row is best in what, and why. Returns nothing
/// for a single row.
std::vector<std::string> Verdicts(std::span<const Row> rows, std::size_t seeds);

/// Returns a sentence for each reason why cells of the table are `-`, and one about the losses if
/// those of the rows cannot be compared (`losses_compare` is false).
std::vector<std::string> Notes(std::span<const Row> rows, bool losses_compare);

/// Returns the table as text: a line for each measure, and a column for each row.
std::string TableText(std::span<const Row> rows);

nlohmann::ordered_json ToJson(std::span<const Row> rows);

/// Returns an SVG: the solve rate over iterations and over seconds (the loss, if no run was
/// validated), a legend, and a timeline of the first updates of the first seed. Requires at least
/// one variant with runs, and the same number of runs of each.
std::string Figure(std::span<const VariantRuns> variants, const std::string& title);

}  // namespace tandem
