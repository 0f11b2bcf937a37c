// Compares variants of a config by the runs that were trained with them.
#pragma once

#include <cstddef>
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
  int ranks = 1;                                            ///< processes that train together
  bool aligned_lag = false;  ///< sequential with the policy lag of async, 1

  /// Returns the overrides for `tandem train`.
  std::vector<Override> Overrides() const;

  /// Returns the name as a folder name, with only letters, digits, '.', '-' and '='.
  std::string FolderName() const;
};

/// Parses the numbers of `--ranks`, such as "1,2". Throws InputError that says what was expected,
/// or that a number comes twice.
std::vector<int> ParseRanks(std::string_view text);

/// Parses the numbers of `--seeds`, such as "1,2", and returns each as the shortest text: "1" for
/// "01". Throws InputError that says what was expected, or that a number comes twice.
std::vector<std::string> ParseSeeds(std::string_view text);

/// Returns every combination of modes, numbers of ranks and varied values. Modes vary fastest.
std::vector<Variant> MakeVariants(std::span<const std::string> modes,
                                  std::span<const Variation> variations,
                                  std::span<const int> ranks);

/// Spread holds the median and the range of some values.
struct Spread {
  double median = 0;
  double least = 0;
  double most = 0;
};

/// Returns the spread of one or more values.
Spread SpreadOf(std::span<const double> values);

/// Returns nothing if a value is missing.
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
