// Validates a network on states that it is not trained on.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/stop_signal.h"
#include "buffer/data_buffer.h"
#include "config/train_config.h"
#include "nn/device.h"
#include "nn/frozen_net.h"
#include "nn/torch_evaluator.h"
#include "run/validation_set.h"
#include "tandem/domain.h"
#include "train/data_loader.h"

namespace tandem {

/// `ValidationResult` says how good a network is on the validation states.
struct ValidationResult {
  double solve_rate = 0;   ///< share of the states that greedy descent solves
  double value_error = 0;  ///< root mean square of estimate minus length, in units of cost; a
                           ///< scramble's length is an upper bound of the true cost-to-go, so
                           ///< even a perfect network has an error
};

/// `LengthError` is the value error of the states of one length.
struct LengthError {
  std::int64_t length = 0;
  double value_error = 0;
};

/// `ValidationReport` adds the value error by length.
struct ValidationReport : ValidationResult {
  std::vector<LengthError> by_length;  ///< sorted by length
};

/// Returns whether `result` is better than `than` by `measure`. If they are equal, compares them by
/// the other measure.
bool IsBetter(const ValidationResult& result, const ValidationResult& than, Measure measure);

/// `Validator` owns the validation states and tests networks on them. Only the main thread uses it.
class Validator {
 public:
  /// `domain` and `device` must outlive this object. `config` must have no `auto` left. Throws the
  /// same errors as MakeValidationSet.
  Validator(const Domain& domain, const NetworkSpec& network, Device& device,
            const TrainConfig& config);

  /// Validates `net`. Greedy descent gives up on a state after twice its length. Waits for the
  /// device. Throws Stopped once `stop` is reached.
  ValidationReport Validate(const ResNetFC& net, const StopSignal& stop);

 private:
  // The states of one length and cost.
  struct Group {
    std::int64_t length = 0;
    float cost = 0;
    std::int64_t states = 0;
  };

  void GroupStates();
  void MeasureValueErrors(ValidationReport& report);

  const Domain& domain_;
  Device& device_;
  const ValidationConfig config_;
  const int threads_;
  const std::size_t evaluate_rows_;
  const ValidationSet validation_set_;
  std::vector<Group> groups_;  // sorted by length
  DataBuffer rows_;            // encoded states; the target column holds group numbers
  FrozenNet net_;
  TorchEvaluator evaluator_;
  std::unique_ptr<Stream> stream_;
  std::unique_ptr<DataLoader> loader_;
};

}  // namespace tandem
