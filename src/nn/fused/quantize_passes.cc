#include "nn/fused/quantize_passes.h"

#include "nn/fused/simd_dispatch.h"

namespace tandem {

TANDEM_INLINE void Run(const RoundToIntegers& p) {
  const float* __restrict from = p.from;
  const float* __restrict factor = p.factor;
  std::int16_t* __restrict to = p.to;
#pragma omp simd
  for (std::int64_t i = 0; i < p.count; ++i) {
    const float x = factor[i] == 0 ? 0 : from[i] * factor[i];
    to[i] = static_cast<std::int16_t>(static_cast<std::int32_t>(x + (x < 0 ? -0.5F : 0.5F)));
  }
}

TANDEM_INLINE void Run(const QuantizeRows& p) {
  for (std::int64_t r = 0; r < p.rows; ++r) {
    const Bf16* __restrict x = p.x + r * p.width;
    std::uint8_t* __restrict q = p.q + r * p.stride;
    float least = Widen(x[0]);
    float most = least;
    float zeros = 0;  // NaN if a number is not finite, which min and max may hide
#pragma omp simd reduction(min : least) reduction(max : most) reduction(+ : zeros)
    for (std::int64_t c = 0; c < p.width; ++c) {
      const float value = Widen(x[c]);
      least = value < least ? value : least;
      most = value > most ? value : most;
      zeros += value * 0;
    }
    const float inverse = most > least ? 255 / (most - least) : 0;
    p.scale[r] = (most - least) / 255;
    p.least[r] = least + zeros;
#pragma omp simd
    for (std::int64_t c = 0; c < p.width; ++c) {
      const float rounded = (Widen(x[c]) - least) * inverse + 0.5F;
      q[c] = static_cast<std::uint8_t>(rounded < 256 ? static_cast<std::int32_t>(rounded) : 255);
    }
    for (std::int64_t c = p.width; c < p.stride; ++c) q[c] = 0;
  }
}

TANDEM_INLINE void Run(const DequantizeRows& p) {
  const float* __restrict unit_scale = p.unit_scale;
  const float* __restrict unit_sum = p.unit_sum;
  for (std::int64_t r = 0; r < p.rows; ++r) {
    const std::int32_t* __restrict sums = p.sums + r * p.width;
    float* __restrict z = p.z + r * p.width;
    const float scale = p.scale[r];
    const float least = p.least[r];
#pragma omp simd
    for (std::int64_t c = 0; c < p.width; ++c) {
      z[c] = static_cast<float>(sums[c]) * (scale * unit_scale[c]) + least * unit_sum[c];
    }
  }
}

TANDEM_PASS(RoundToIntegers);
TANDEM_PASS(QuantizeRows);
TANDEM_PASS(DequantizeRows);

}  // namespace tandem
