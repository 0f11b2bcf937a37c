// How good a network is, on states that it is not trained on.
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

struct ValidationResult {
  double solve_rate = 0;   ///< share of the states that greedy descent solves
  double value_error = 0;  ///< root mean square of estimate less length, in costs; a scramble's
                           ///< length is an upper bound of the true cost-to-go, so that even a
                           ///< perfect network has some
};

/// The value error of the states of one length.
struct LengthError {
  std::int64_t length = 0;
  double value_error = 0;
};

struct ValidationReport : ValidationResult {
  std::vector<LengthError> by_length;  ///< from the shortest on
};

/// Whether `result` is better than `than` by the measure; where they are equal, by the other.
bool IsBetter(const ValidationResult& result, const ValidationResult& than, Measure measure);

/// Holds states apart, and tries networks on them. Used by the main thread.
class Validator {
 public:
  /// `domain` and `device` must outlive this; no `auto` is left in `config`. Throws as
  /// MakeValidationSet.
  Validator(const Domain& domain, const NetworkSpec& network, Device& device,
            const TrainConfig& config);

  /// Greedy descent gives up after twice a state's length. Throws Stopped once `stop` is reached.
  /// Waits for the device.
  ValidationReport Validate(const ResNetFC& net, const StopSignal& stop);

 private:
  // A group has the states of one length and cost.
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
  std::vector<Group> groups_;  // from the shortest on
  DataBuffer rows_;            // encoded states; instead of a target, the number of the group
  FrozenNet net_;
  TorchEvaluator evaluator_;
  std::unique_ptr<Stream> stream_;
  std::unique_ptr<DataLoader> loader_;
};

}  // namespace tandem
