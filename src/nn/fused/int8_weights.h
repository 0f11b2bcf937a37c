// The weights of a layer in int8, as a fused copy (fused_copy.h) multiplies by them.
#pragma once

#include <cstdint>
#include <limits>

#include "nn/fused/aligned_vector.h"

namespace tandem {

/// Int8Weights are weights rounded to whole numbers, with one scale for each unit.
struct Int8Weights {
  AlignedVector<std::int8_t> operand;         ///< (PaddedInputs, units), in panels
  AlignedVector<float> unit_scale, unit_sum;  ///< (units); DequantizeRows

  /// The number of rows of `operand`: inputs rounded up to whole words.
  static std::int64_t PaddedInputs(std::int64_t inputs);

  /// Products of int8 with activations, which are from 0 to 255, are added up in 32 bits. With more
  /// inputs, a sum could overflow.
  static constexpr std::int64_t kMostInputs =
      std::numeric_limits<std::int32_t>::max() /
      (std::numeric_limits<std::uint8_t>::max() * std::numeric_limits<std::int8_t>::max());
};

/// Rounds `weight` (units, inputs). If a weight of a unit is not finite, its scale and its sum are
/// not either, so that the unit's results are NaN.
Int8Weights RoundToInt8(const float* weight, std::int64_t inputs, std::int64_t units);

}  // namespace tandem
