// What a finished run says of itself, read from its folder.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace tandem {

/// An update's line in metrics.jsonl.
struct UpdatePoint {
  std::int64_t iterations = 0;  ///< up to its end
  double seconds = 0;           ///< from the run's start to its end
  double loss = 0;
  std::optional<double> solve_rate;  ///< in 0..1, where it was validated
};

/// Seconds since the run began.
struct Stretch {
  double begin = 0;
  double end = 0;
};

struct RunRecord {
  std::int64_t updates = 0;
  std::int64_t examples = 0;
  double final_loss = 0;
  double lag_updates = 0;  ///< mean
  std::string weights_sha256;

  // After the cold start, which every mode has alike.
  double seconds = 0;              ///< wall time
  double generate_critical_s = 0;  ///< the generator's critical path: at work, not waiting
  double train_critical_s = 0;     ///< the main thread's: all but waiting for rows
  double core_s = 0;               ///< CPU time of all threads
  std::optional<double> gpu_s;  ///< time at least one of the GPU's streams was busy, by its traced
                                ///< updates
  int cores = 1;
  std::optional<double> product_share;  ///< of the rate at which the machine multiplies matrices

  // Shares of the wall time, in 0..1.
  double idle_workers = 0;
  double idle_main = 0;

  std::vector<UpdatePoint> curve;
  std::vector<Stretch> fills, trainings;
};

/// Throws InputError that names the file and what is missing in it.
RunRecord ReadRun(const std::filesystem::path& folder);

}  // namespace tandem
