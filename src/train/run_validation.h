// The validations of a run.
#pragma once

#include <functional>
#include <optional>

#include "base/stop_signal.h"
#include "config/config.h"
#include "train/run_counters.h"

namespace tandem {

struct Components;

/// RunValidation validates the network of a run when that is due, and records the results in the
/// run's counters. The methods do nothing if the components have no validator. A stop request
/// interrupts a validation, which then has no result; the time limit does not. Only the main thread
/// uses this class.
class RunValidation {
 public:
  /// Hooks are called after each validation that was not stopped, except the one of the untrained
  /// network.
  struct Hooks {
    /// Called first, if the network is the best one so far. The counters still name the best one
    /// before it.
    std::function<void()> on_best;
    /// The counters have the result.
    std::function<void(const ValidationReport&)> on_validation;
  };

  /// `so_far`, the counters of the run, must outlive this object, and so must `requests`, its stop
  /// requests.
  RunValidation(ValidationConfig config, RunCounters& so_far, const StopSignal& requests,
                Hooks hooks);

  /// Measures the untrained network before the first update. DescribeLearning compares later
  /// validations with it.
  void ValidateAtStart(Components& components);

  /// Validates after each multiple of validation.every_updates, unless that was done.
  void ValidateIfDue(Components& components);

  /// Validates the final network, unless that was done. Warns if a stop request interrupts it.
  void ValidateAtEnd(Components& components);

  /// Returns the report of the last validation once, and then nothing until the next one.
  std::optional<ValidationReport> TakeReport();

 private:
  bool has_result() const { return so_far_.validated_iterations == so_far_.iterations; }
  void Validate(Components& components);

  const ValidationConfig config_;
  RunCounters& so_far_;
  const StopSignal& requests_;
  const Hooks hooks_;
  std::optional<ValidationReport> report_;  // that TakeReport has not returned
};

}  // namespace tandem
