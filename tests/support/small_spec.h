// A small resnet_fc, and rows for it.
#pragma once

#include <ATen/ops/randint.h>

#include <cstdint>

#include "nn/network.h"

namespace tandem {

/// Hidden layers of 16 units and then of 8.
inline NetworkSpec SmallSpec(Norm norm, Activation activation = Activation::kRelu) {
  return {.input = {.positions = 5, .depth = 3},
          .layers = {
              .stem_width = 16, .width = 8, .blocks = 2, .norm = norm, .activation = activation}};
}

/// Bytes (n, positions) for SmallSpec.
inline at::Tensor RandomRows(std::int64_t n) { return at::randint(0, 3, {n, 5}, at::kByte); }

}  // namespace tandem
