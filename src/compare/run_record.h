// Reads the results of a finished run from its folder.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace tandem {

/// `UpdatePoint` is the line of an update in metrics.jsonl.
struct UpdatePoint {
  std::int64_t iterations = 0;  ///< iterations of the run up to the end of the update
  double seconds = 0;           ///< from the start of the run to the end of the update
  double loss = 0;
  std::optional<double> solve_rate;  ///< in 0..1; nothing without a validation
};

/// `Stretch` is a period of time, in seconds since the start of the run.
struct Stretch {
  double begin = 0;
  double end = 0;
};

/// `RunRecord` holds the results of one run.
struct RunRecord {
  std::int64_t updates = 0;
  std::int64_t examples = 0;
  double final_loss = 0;
  double lag_updates = 0;  ///< mean over the updates
  std::string weights_sha256;

  // These leave out the cold start, which is the same in every mode.
  double seconds = 0;              ///< wall time
  double generate_critical_s = 0;  ///< while generation worked instead of waiting
  double train_critical_s = 0;     ///< while the main thread worked instead of waiting for rows
  double core_s = 0;               ///< CPU time of all threads
  std::optional<double> gpu_s;     ///< time in which at least one stream of the GPU was busy,
                                   ///< extrapolated from the traced updates
  int cores = 1;
  std::optional<double> product_share;  ///< share of the machine's rate of matrix products

  // Shares of the wall time, in 0..1.
  double idle_workers = 0;
  double idle_main = 0;

  std::vector<UpdatePoint> curve;
  std::vector<Stretch> fills, trainings;
};

/// Reads summary.json and metrics.jsonl. Throws InputError that names the file and the missing
/// entry.
RunRecord ReadRun(const std::filesystem::path& folder);

}  // namespace tandem
