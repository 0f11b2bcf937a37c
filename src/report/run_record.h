// The results of runs, read from their files.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tandem {

/// UpdatePoint is the line of an update in metrics.jsonl.
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

/// Interval is a period of time, in seconds since the start of the run.
struct Interval {
  double begin = 0;
  double end = 0;
};

/// RunRecord holds the results of one run. Of several ranks, which work alike, it holds the times
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

  // Shares of the wall time, in 0..1.
  double idle_workers = 0;
  double idle_main = 0;

  std::vector<UpdatePoint> curve;
  std::vector<Interval> fills, trainings;
};

/// Reads metrics.jsonl as ReadCurve does. Members that summary.json gives keep their defaults.
/// Throws InputError that names the file if it has no update yet.
RunRecord ReadUpdates(const std::filesystem::path& metrics);

/// Reads a summary.json. Throws InputError that names the file if it is not a JSON object, or has a
/// larger schema than this program knows.
nlohmann::json ReadSummary(const std::filesystem::path& file);

/// Reads summary.json and metrics.jsonl. Throws InputError that names the file, and the missing
/// entry or a larger schema than this program knows.
RunRecord ReadRun(const std::filesystem::path& folder);

}  // namespace tandem
