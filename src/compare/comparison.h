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

/// What overlap could at best make of the work that `sequential` measured: the largest of the
/// generator's critical path, the main thread's, and each resource's whole demand (core-seconds
/// over cores; seconds that the GPU is busy), without the cold start.
struct Ideal {
  double seconds = 0;
  std::string bound_by;  ///< "generator", "training", "cores" or "GPU"
};
Ideal IdealOf(const RunRecord& sequential);

/// A row of the table. Each spread is over the seeds.
struct Row {
  Variant variant;
  Spread updates_per_s, examples_per_s;  ///< after the cold start
  Spread generate_s, train_s;
  Spread idle_workers, idle_main;  ///< shares in 0..1
  std::optional<Spread> idle_gpu;  ///< on a GPU
  Spread lag_updates, final_loss;
  std::optional<Spread> solve_rate;             ///< after all iterations
  std::optional<Spread> solve_rate_equal_time;  ///< when the fastest run of its seed was done
  Spread speed_up;                              ///< over the first row, seed by seed
  std::optional<Spread> efficiency;  ///< of overlap: async rows with a sequential one beside them
  std::string bound_by;              ///< of that ideal: "cores", or "training, GPU" by seeds
  bool weights_equal_first = false;  ///< with the first row's, for every seed
};

/// One row for each variant. The first is the baseline of the speed-ups. Requires at least one
/// variant, and as many runs of each.
std::vector<Row> Compare(std::span<const VariantRuns> variants);

/// A sentence for each row but the first: how it differs from the first in speed and in its solve
/// rate, or that the spread over the seeds is too wide to tell.
std::vector<std::string> Verdicts(std::span<const Row> rows, std::size_t seeds);

/// The table, for a terminal: a line for each measure, a column for each row.
std::string TableText(std::span<const Row> rows);

nlohmann::ordered_json ToJson(std::span<const Row> rows);

}  // namespace tandem
