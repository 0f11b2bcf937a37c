// How far estimates are from the lengths that they should tell.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "config/train_config.h"

namespace tandem {

/// Sums the squares of estimate less cost, in groups whose states share a cost. Add and Sums are
/// called on the stream of the estimates.
class SquaredErrors {
 public:
  virtual ~SquaredErrors() = default;

  /// `estimates`: (n), floats. `groups`: (n, 1), floats that are whole numbers, the group of each.
  /// Both are on the device and may be rewritten once the stream has passed.
  virtual void Add(const at::Tensor& estimates, const at::Tensor& groups) = 0;

  /// The sum of each group. Waits for the device.
  virtual std::vector<double> Sums() = 0;
};

/// `costs[i]` is what the estimates of group i should be. On the CPU every batch is copied there
/// and summed in double precision; on the device, in fp32, only the sums come back.
std::unique_ptr<SquaredErrors> MakeSquaredErrors(MetricsPlace place,
                                                 const std::vector<float>& costs,
                                                 c10::Device device);

}  // namespace tandem
