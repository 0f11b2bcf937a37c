// The progress of a run so far, and the quality of its network.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

namespace tandem {

/// ValidationResult says how good a network is on the validation states.
struct ValidationResult {
  double solve_rate = 0;  ///< share of the states solved
  /// Root mean square of estimate minus length, in units of cost. A scramble's length is an upper
  /// bound of the true cost-to-go, so even a perfect network has an error. Nothing with a policy,
  /// which estimates no costs.
  std::optional<double> value_error;
  std::int64_t states = 0;  ///< number of validation states
};

/// ValidationReport adds the value error, unless the network is a policy, and the solve rate of the
/// states of each length.
struct ValidationReport : ValidationResult {
  std::map<std::int64_t, double> value_error_by_length;
  std::map<std::int64_t, double> solve_rate_by_length;
};

/// RunCounters holds what a run has done so far.
struct RunCounters {
  std::int64_t updates = 0;     ///< complete updates
  std::int64_t iterations = 0;  ///< including those of an incomplete update
  std::int64_t examples = 0;
  double wall_s = 0;
  double generate_s = 0;
  double train_s = 0;
  double wait_for_rows_s = 0;
  double validate_s = 0;
  double final_loss = 0;       ///< of the last update
  bool follows_clock = false;  ///< train.max_updates was auto, so the run revises its plan

  std::optional<ValidationResult> at_start;    ///< before the first update
  std::optional<ValidationResult> validation;  ///< the last one
  std::optional<ValidationResult> best;
  std::int64_t validated_iterations = 0;  ///< iterations at the last validation
  std::int64_t best_update = 0;  ///< updates that the network of best.safetensors was trained for
};

/// Returns the number of updates that the network of best.safetensors was trained for, if there is
/// one.
inline std::optional<std::int64_t> BestUpdateOf(const RunCounters& counters) {
  return counters.best ? std::optional(counters.best_update) : std::nullopt;
}

}  // namespace tandem
