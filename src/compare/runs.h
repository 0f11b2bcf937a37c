// The runs of a comparison: which ones to make, and the results of those that finished.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/load.h"

namespace tandem {

/// `Variation` is one `--vary KEY=V1,V2`: runs are made with each value of the key.
struct Variation {
  std::string key;
  std::vector<std::string> values;  ///< at least two, all different
};

/// Parses "KEY=V1,V2". Throws InputError that says what was expected.
Variation ParseVariation(std::string_view text);

/// Splits "a,b,c". Throws InputError, naming `option`, if a part is empty or comes twice.
std::vector<std::string> SplitList(std::string_view text, std::string_view option);

/// `Variant` is one row of a comparison: a mode and the values of varied keys. It runs once per
/// seed.
struct Variant {
  std::string name;  ///< name of the row: "async", "async prefetch.depth=4"
  std::string mode;
  std::vector<std::pair<std::string, std::string>> varied;  ///< key and value
  int ranks = 1;                                            ///< processes that train together
  bool aligned_lag = false;  ///< sequential with the policy lag of async, 1

  /// Returns the overrides for `tandem train`.
  std::vector<Override> Overrides() const;

  /// Returns the name as a folder name, with only letters, digits, '.', '-' and '='.
  std::string FolderName() const;
};

/// Parses the numbers of `--ranks`, such as "1,2". Throws InputError that says what was expected.
std::vector<int> ParseRanks(std::string_view text);

/// Returns every combination of modes, numbers of ranks and varied values. Modes vary fastest.
std::vector<Variant> MakeVariants(std::span<const std::string> modes,
                                  std::span<const Variation> variations,
                                  std::span<const int> ranks);

/// `UpdatePoint` is the line of an update in metrics.jsonl.
struct UpdatePoint {
  std::int64_t update = 0;      ///< counted from 0
  std::int64_t iterations = 0;  ///< iterations of the run up to the end of the update
  double seconds = 0;           ///< from the start of the run to the end of the update
  double loss = 0;
  std::optional<double> solve_rate;  ///< in 0..1; nothing without a validation

  std::int64_t examples = 0;  ///< examples of the run up to the end of the update
  std::optional<double> walk_length_error = std::nullopt;  ///< error against walks, if validated
  std::optional<double> value_error = std::nullopt;  ///< error against known lengths, if validated

  /// Either error by length, sorted by length; empty if not validated.
  std::vector<std::pair<std::int64_t, double>> error_by_length = {};
};

/// Reads the lines of a metrics.jsonl. Returns nothing if the file does not exist. Ignores a last
/// line without a line break, which a running program may still be writing. Leaves out, with a
/// warning, lines that do not match their hash. Throws InputError that names the line and the
/// missing entry.
std::vector<UpdatePoint> ReadCurve(const std::filesystem::path& metrics);

/// `Interval` is a period of time, in seconds since the start of the run.
struct Interval {
  double begin = 0;
  double end = 0;
};

/// `RunRecord` holds the results of one run. Of several ranks, which work alike, it holds the times
/// of rank 0.
struct RunRecord {
  std::int64_t updates = 0;
  std::int64_t examples = 0;
  double final_loss = 0;
  double lag_updates = 0;  ///< mean over the updates
  std::string weights_sha256;
  int ranks = 1;

  // These leave out the cold start, which is the same in every mode.
  double seconds = 0;              ///< wall time
  double generate_critical_s = 0;  ///< while generation worked instead of waiting
  double train_critical_s = 0;     ///< while the main thread worked instead of waiting for rows
  double core_s = 0;               ///< CPU time of all threads of all ranks, as rank 0's times N
  std::optional<double> gpu_s;     ///< time in which at least one stream of the GPU was busy,
                                   ///< extrapolated from the traced updates
  int cores = 1;
  std::optional<double> product_share;  ///< share of the machine's rate of matrix products

  // Shares of the wall time, in 0..1.
  double idle_workers = 0;
  double idle_main = 0;

  std::vector<UpdatePoint> curve;
  std::vector<Interval> fills, trainings;
};

/// Reads metrics.jsonl, also of a run that has not finished: ignores a last line without a line
/// break, which a running program may still be writing, and, with a warning, lines that do not
/// match their hash. Members that summary.json gives keep their defaults. Throws InputError that
/// names the file and the missing entry, or says that there is no update yet.
RunRecord ReadUpdates(const std::filesystem::path& metrics);

/// Reads summary.json and metrics.jsonl. Throws InputError that names the file and the missing
/// entry.
RunRecord ReadRun(const std::filesystem::path& folder);

/// `VariantRuns` holds the runs of a variant, one for each seed, in the order of the seeds.
struct VariantRuns {
  Variant variant;
  std::vector<RunRecord> runs;
};

}  // namespace tandem
