// Bytes to the features of a network, on the device.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

#include "tandem/domain.h"

namespace tandem {

class OneHot {
 public:
  OneHot(InputLayout layout, at::ScalarType type, c10::Device device);

  /// (n, positions) of uint8, each below depth, to (n, positions * depth): feature
  /// depth * p + value is 1.
  at::Tensor operator()(const at::Tensor& bytes) const;

 private:
  std::int64_t features_;
  at::Tensor rows_;  // (depth, depth), row v is the encoding of v
};

}  // namespace tandem
