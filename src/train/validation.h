// The states that a network is validated on, and how good it is on them.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "base/stop_signal.h"
#include "config/config.h"
#include "nn/device.h"
#include "nn/inference_net.h"
#include "search/search.h"
#include "tandem/domain.h"
#include "train/run_counters.h"

namespace tandem {

struct Components;

/// ValidationSet holds states with an upper bound of their distance to the goal. Training uses
/// other random numbers, so it meets these states only by chance.
struct ValidationSet {
  std::vector<std::uint8_t> states;   ///< n x state_size
  std::vector<std::int64_t> lengths;  ///< n: length of the scramble, or `optimal` of the file
  /// n: cost of the way back, or of `optimal` moves. Empty if `optimal` does not tell the cost.
  std::vector<float> costs;

  ConstRows rows() const { return {states.data(), lengths.size(), states.size() / lengths.size()}; }
};

/// Returns the first `validation.states` states of `validation.file`; each needs `optimal`. Without
/// a file, returns that many scrambles from a fixed seed, which are the same for every run on a
/// domain with this max_scramble. Scramble i has 1 + i mod max_scramble actions; if there are fewer
/// states than lengths, they are spread over all lengths. Throws InputError that names the file and
/// line of a state that it cannot use.
ValidationSet MakeValidationSet(const Domain& domain, const Config& config);

/// Validator owns the validation states and tests networks on them. Only the main thread uses it.
class Validator {
 public:
  /// `domain` and `device` must outlive this object. `config` must have no `auto` left. Throws the
  /// same errors as MakeValidationSet.
  Validator(const Domain& domain, const NetworkSpec& network, Device& device, const Config& config);

  /// Validates `net`: tries to solve the states by greedy descent, for a policy by its most
  /// probable actions, or by beam search (validation.beam_width), and compares estimates with true
  /// costs. A solution may have twice as many moves as a state's length or, for beam search, cost
  /// as much as so many of the most expensive moves. Waits for the device. Throws Stopped once
  /// `stop` is reached.
  ValidationReport Validate(const Network& net, const StopSignal& stop);

 private:
  std::vector<bool> Solve(const StopSignal& stop);
  std::map<std::int64_t, double> SquaredErrors(const StopSignal& stop);

  const Domain& domain_;
  const ValidationConfig config_;
  const Head head_;
  const std::size_t rows_per_call_;
  const ValidationSet validation_set_;
  InferenceNet net_;
  std::unique_ptr<Search> search_;  // null: greedy descent
};

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
