// Rows of figures for the variants of a comparison, and what may be said of them.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "compare/run_record.h"
#include "compare/statistics.h"
#include "compare/variants.h"

namespace tandem {

/// A variant's runs, one for each seed, in the order of the seeds.
struct VariantRuns {
  Variant variant;
  std::vector<RunRecord> runs;
};

/// The least time that overlap could make of the work that `sequential` measured: the largest of
/// the generator's critical path, the main thread's, and each resource's whole demand (core-seconds
/// over cores; seconds that the GPU is busy), without the cold start.
struct Ideal {
  double seconds = 0;
  std::string bound_by;  ///< "generator", "training", "cores" or "GPU"
};
Ideal IdealOf(const RunRecord& sequential);

/// The share of a run's wall time in which its busiest side was at work: the generator, the main
/// thread, the cores or the GPU. All is measured in that run, so the share is at most 1. A GPU may
/// be busy with slow kernels and a core may wait in a loop: the product share tells.
struct Busy {
  double share = 0;
  std::string side;  ///< as Ideal::bound_by
};
Busy BusyOf(const RunRecord& run);

/// A row of the table. Each spread is over the seeds.
struct Row {
  Variant variant;
  Spread updates_per_s, examples_per_s;  ///< after the cold start
  Spread generate_critical_s, train_critical_s;
  Spread idle_workers, idle_main;  ///< shares in 0..1
  std::optional<Spread> idle_gpu;  ///< on a GPU
  Spread lag_updates, final_loss;
  std::optional<Spread> solve_rate;             ///< after all iterations
  std::optional<Spread> solve_rate_equal_time;  ///< when the first run of its seed was done
  Spread speed_up;                              ///< over the first row, seed by seed
  std::optional<Spread> ideal_speed_up;  ///< over sequential; async rows with one beside them
  std::string ideal_bound_by;            ///< "cores", or "training, GPU" by seeds
  Spread busy;                           ///< Busy::share
  std::string busiest;                   ///< Busy::side, or several by seeds
  std::optional<Spread> product_share;   ///< of the machine's rate of matrix products
  bool weights_equal_first = false;      ///< with the first row's, for every seed

  /// How likely chance alone makes as large a difference from the first row (ChanceOf). Not in the
  /// first row.
  std::optional<double> speed_up_chance, solve_rate_chance, solve_rate_equal_time_chance;
};

/// One row for each variant. The first is the baseline of the speed-ups. Requires at least one
/// variant, and as many runs of each.
std::vector<Row> Compare(std::span<const VariantRuns> variants);

/// Below so many seeds no verdict is given: even if all of four seeds agree, chance alone makes
/// them agree in one of eight cases.
inline constexpr std::size_t kFewestSeeds = 5;

/// A sentence for each row but the first: how it differs from the first in speed and in its solve
/// rate, and how likely chance alone makes such a difference. Differences that chance makes in more
/// than 10 % of cases are not called differences.
std::vector<std::string> Verdicts(std::span<const Row> rows, std::size_t seeds);

/// The table, for a terminal: a line for each measure, a column for each row.
std::string TableText(std::span<const Row> rows);

nlohmann::ordered_json ToJson(std::span<const Row> rows);

}  // namespace tandem
