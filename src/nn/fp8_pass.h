// The pass that turns activations into 8-bit floats (device_pass.h).
#pragma once

#include <c10/util/Float8_e4m3fn.h>

#include <cstdint>

#include "nn/device_pass.h"

namespace tandem {

/// E4m3 is a number in e4m3: 8 bits with a sign, 4 of the exponent and 3 of the mantissa. It has no
/// infinity.
enum class E4m3 : std::uint8_t {};

inline constexpr float kLargestOfE4m3 = 448;

/// The least scale, with which zeros stay zeros.
inline constexpr float kLeastE4m3Scale = 1e-12F;

/// Rounds to nearest, ties to even. NaN stays NaN, and numbers that are too large become NaN.
TANDEM_PASS_INLINE void Narrow(float x, E4m3& to) {
  to = static_cast<E4m3>(c10::Float8_e4m3fn(x).x);
}

/// Fp8Pass divides numbers by a scale, with which the largest magnitude becomes the largest number
/// of e4m3, and rounds them to e4m3. If it is infinite or NaN, so is the scale, and no result of
/// the product is a number.
struct Fp8Pass {
  static constexpr int kPhases = 1;
  static constexpr std::int64_t kPerThread = 32;
  static constexpr std::int64_t kThreads = kThreadRows * kThreadLanes;

  std::int64_t count;
  const Bf16* x;
  const float* largest;  ///< the largest magnitude, up to rounding to bf16
  E4m3* y;
  float* scale;  ///< of the product that reads y

  PassGrid grid() const { return {pass::Ceil(count, kThreads * kPerThread), 1}; }
  bool aligned() const {
    return count % kPassVector == 0 && pass::IsAligned(x) && pass::IsAligned(y);
  }

  template <int V>
  TANDEM_PASS_INLINE void Run(int /*phase*/, PassThread thread, float* /*shared*/) const {
    // NaN stays NaN.
    const float exact = *largest / kLargestOfE4m3;
    const float divisor = exact < kLeastE4m3Scale ? kLeastE4m3Scale : exact;
    const float factor = 1 / divisor;
    const int number = thread.row * kThreadLanes + thread.lane;
    if (thread.block_x == 0 && number == 0) *scale = divisor;
    const std::int64_t begin = thread.block_x * kThreads * kPerThread;
    const std::int64_t end = pass::Least(count, begin + kThreads * kPerThread);
    for (std::int64_t i = begin + number * V; i < end; i += kThreads * V) {
      float values[V];
      pass::Load<Bf16, V>(x + i, values);
      for (int j = 0; j < V; ++j) values[j] *= factor;
      pass::Store<E4m3, V>(values, y + i);
    }
  }
};

}  // namespace tandem
