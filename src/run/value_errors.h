// Sums the squared errors of estimates.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "config/train_config.h"

namespace tandem {

/// `SquaredErrors` sums the squares of estimate minus cost, by groups of states with the same cost.
/// Call Add and Sums on the stream of the estimates.
class SquaredErrors {
 public:
  virtual ~SquaredErrors() = default;

  /// Adds n states. `estimates` has shape (n); `groups` has shape (n, 1) and holds group numbers as
  /// floats. Both are on the device and may be overwritten by later work on the stream.
  virtual void Add(const at::Tensor& estimates, const at::Tensor& groups) = 0;

  /// Returns the sum of each group. Waits for the device.
  virtual std::vector<double> Sums() = 0;
};

/// `costs[i]` is the true cost of the states of group i. With MetricsPlace::kCpu, copies every
/// batch to the host and sums in double precision. With kDevice, sums in fp32 on the device and
/// copies only the sums.
std::unique_ptr<SquaredErrors> MakeSquaredErrors(MetricsPlace place,
                                                 const std::vector<float>& costs,
                                                 c10::Device device);

}  // namespace tandem
