// How good a network is, on scrambles that it is not trained on.
#pragma once

#include <cstdint>
#include <vector>

#include "base/stop_signal.h"
#include "config/train_config.h"
#include "nn/device.h"
#include "nn/frozen_net.h"
#include "nn/torch_evaluator.h"
#include "tandem/domain.h"

namespace tandem {

struct ValidationResult {
  double solve_rate = 0;   ///< share of the scrambles that greedy descent solves
  double value_error = 0;  ///< root mean square of estimate less scramble length, in costs; the
                           ///< length is an upper bound of the true cost-to-go, so even a perfect
                           ///< network has some
};

/// Whether `result` is better than `than` by the measure; where they are equal, by the other.
bool IsBetter(const ValidationResult& result, const ValidationResult& than, Measure measure);

/// Holds a fixed set of scrambles, the same for every run on a domain with this max_scramble:
/// scramble i has 1 + i mod max_scramble actions. Used by the main thread.
class Validator {
 public:
  /// `domain` and `device` must outlive this; no `auto` is left in `config`.
  Validator(const Domain& domain, const NetworkSpec& network, Device& device,
            const TrainConfig& config);

  /// Greedy descent gives up after twice a scramble's length. Throws Stopped once `stop` is
  /// reached. Waits for the device.
  ValidationResult Validate(const ResNetFC& net, const StopSignal& stop);

 private:
  double ValueError();

  const Domain& domain_;
  Device& device_;
  FrozenNet net_;
  TorchEvaluator evaluator_;
  std::vector<std::uint8_t> states_;
  std::vector<std::int64_t> lengths_;
};

}  // namespace tandem
