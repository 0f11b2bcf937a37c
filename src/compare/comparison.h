// Compares the runs of several variants.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "compare/run_record.h"
#include "compare/spread.h"
#include "compare/variants.h"

namespace tandem {

/// Ideal is the shortest time in which perfect overlap could do the work of a run, without the
/// cold start. It is the largest of the generator's critical path, the main thread's critical path,
/// and the demand for each resource (core-seconds over cores; seconds that the GPU is busy).
struct Ideal {
  double seconds = 0;
  std::string bound_by;  ///< "generator", "training", "cores" or "GPU"
};
Ideal IdealOf(const RunRecord& run);

/// Busy is the share of a run's wall time in which its busiest side worked: the generator, the
/// main thread, the cores or the GPU. All times are from that run, so the share is at most 1. A
/// busy GPU may run slow kernels, and a busy core may spin.
struct Busy {
  double share = 0;
  std::string side;  ///< as Ideal::bound_by
};
Busy BusyOf(const RunRecord& run);

/// VariantRuns holds the runs of a variant, one for each seed, in the order of the seeds.
struct VariantRuns {
  Variant variant;
  std::vector<RunRecord> runs;
};

/// Returns whether the networks of `runs` and `others` have the same weights for each seed.
bool EqualWeights(const VariantRuns& runs, const VariantRuns& others);

/// Row holds the results of one variant. Each spread is over the seeds.
struct Row {
  Variant variant;
  Spread updates_per_s, examples_per_s;  ///< after the cold start
  Spread generate_critical_s, train_critical_s;
  Spread idle_workers, idle_main;  ///< shares in 0..1
  std::optional<Spread> idle_gpu;  ///< only on a GPU
  Spread lag_updates, final_loss;
  std::optional<Spread> solve_rate;             ///< after all iterations
  std::optional<Spread> solve_rate_equal_time;  ///< when the first run of the seed ended
  Spread speed_up;                              ///< relative to the first row, seed by seed
  std::optional<Spread> ideal_speed_up;  ///< relative to sequential; only in async rows that have a
                                         ///< sequential counterpart
  std::string ideal_bound_by;            ///< "cores", or "training, GPU" if seeds differ
  Spread busy;                           ///< Busy::share
  std::string busiest;                   ///< Busy::side, or several if seeds differ
  bool weights_equal_first = false;      ///< for every seed, equal to the first row's

  /// Probability that chance alone makes as large a difference from the first row (ChanceOf).
  /// Nothing in the first row.
  std::optional<double> speed_up_chance, solve_rate_chance, solve_rate_equal_time_chance;
};

/// Returns a row for each variant. The first variant is the baseline of the speed-ups. Requires at
/// least one variant, and the same number of runs of each.
std::vector<Row> Compare(std::span<const VariantRuns> variants);

}  // namespace tandem
