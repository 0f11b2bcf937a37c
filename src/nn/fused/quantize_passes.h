// The passes from numbers to whole numbers and back, for evaluation in int8 and for the first layer
// of a fused evaluation (fused_copy.h). The code does not need LibTorch.
#pragma once

#include <cstdint>

#include "nn/bf16.h"
#include "nn/fused/simd_pass.h"

namespace tandem {

/// Rounds from[i] * factor[i], which must lie in the range of the result, to whole numbers. The
/// result is 0 where the factor is 0.
struct RoundToIntegers {
  std::int64_t count;
  const float *from, *factor;
  std::int16_t* to;
};

/// Writes for each number of a row of `x` a whole number q from 0 to 255, so that the number is
/// about q * scale + least. If a row contains NaN or infinity, its `least` is NaN. A row of `q` has
/// `stride` bytes; those after the first `width` are set to 0.
struct QuantizeRows {
  std::int64_t rows, width, stride;
  const Bf16* x;  ///< (rows, width)
  std::uint8_t* q;
  float *scale, *least;  ///< (rows)
};

/// Computes from the product of such q with weights that are whole numbers times the scale of their
/// unit: z = sums * scale * unit_scale + least * unit_sum, where unit_sum is the sum of a unit's
/// weights.
struct DequantizeRows {
  std::int64_t rows, width;
  const std::int32_t* sums;            ///< (rows, width)
  const float *scale, *least;          ///< (rows)
  const float *unit_scale, *unit_sum;  ///< (width)
  float* z;                            ///< (rows, width)
};

}  // namespace tandem
