// Encodes bytes as the input features of a network, on the device.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

#include "tandem/domain.h"

namespace tandem {

/// OneHot encodes each byte of a row as `depth` features, one of which is 1.
class OneHot {
 public:
  OneHot(InputLayout layout, at::ScalarType type, c10::Device device);

  /// Maps (n, positions) uint8, each value below depth, to (n, positions * depth) of the type given
  /// at construction. A value v at position p sets feature depth * p + v to 1.
  at::Tensor operator()(const at::Tensor& bytes) const;

 private:
  std::int64_t features_;
  at::Tensor rows_;  // (depth, depth); row v is the encoding of v
};

}  // namespace tandem
