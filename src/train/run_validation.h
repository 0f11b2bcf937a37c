// The validations of a run.
#pragma once

#include <optional>

#include "base/stop_signal.h"
#include "config/config.h"
#include "train/run_counters.h"

namespace tandem {

struct Components;

/// RunValidation validates the network of a run when that is due. The caller passes each result to
/// Record, which records it in the run's counters. The methods that validate do nothing if the
/// components have no validator. A stop request interrupts a validation, which then has no result;
/// the time limit does not. Only the main thread uses this class.
class RunValidation {
 public:
  /// `so_far`, the counters of the run, must outlive this object, and so must `requests`, its stop
  /// requests.
  RunValidation(ValidationConfig config, RunCounters& so_far, const StopSignal& requests);

  /// Measures the untrained network before the first update. DescribeLearning compares later
  /// validations with it.
  void ValidateAtStart(Components& components);

  /// Validates after each multiple of validation.every_updates, unless that was done. Pass the
  /// result, if there is a new one, to Record.
  std::optional<ValidationReport> ValidateIfDue(Components& components);

  /// Validates the final network, unless that was done. Warns if a stop request interrupts it. Pass
  /// the result, if there is a new one, to Record.
  std::optional<ValidationReport> ValidateAtEnd(Components& components);

  /// Returns whether the network of `report` is the best one so far.
  bool IsBest(const ValidationReport& report) const;

  /// Records the result for the current network.
  void Record(const ValidationReport& report);

 private:
  bool has_result() const { return so_far_.validated_iterations == so_far_.iterations; }
  std::optional<ValidationReport> Validate(Components& components);

  const ValidationConfig config_;
  RunCounters& so_far_;
  const StopSignal& requests_;
};

}  // namespace tandem
