// Numbers in e4m3, a format of 8-bit floats. GPU code includes this header too.
#pragma once

#include <cstdint>

#ifdef __CUDACC__
#include <cuda_fp8.h>
#endif

#include "nn/tensors/device_pass.h"

#ifndef __CUDA_ARCH__
#include <c10/util/Float8_e4m3fn.h>
#endif

namespace tandem {

/// E4m3 is a number in e4m3: 8 bits with a sign, 4 of the exponent and 3 of the mantissa. It has no
/// infinity.
enum class E4m3 : std::uint8_t {};

inline constexpr float kLargestOfE4m3 = 448;

/// Rounds to nearest, ties to even. NaN stays NaN, and numbers that are too large become the
/// largest one.
TANDEM_PASS_INLINE void Narrow(float x, E4m3& to) {
#ifdef __CUDA_ARCH__
  to = static_cast<E4m3>(__nv_cvt_float_to_fp8(x, __NV_SATFINITE, __NV_E4M3));
#else
  if (x > kLargestOfE4m3) x = kLargestOfE4m3;
  if (x < -kLargestOfE4m3) x = -kLargestOfE4m3;
  to = static_cast<E4m3>(c10::Float8_e4m3fn(x).x);
#endif
}

#ifdef __CUDA_ARCH__
// Two numbers at once, for which a GPU has an instruction.
TANDEM_PASS_INLINE void NarrowTwo(float x, float y, E4m3* to) {
  const __nv_fp8x2_storage_t both =
      __nv_cvt_float2_to_fp8x2(make_float2(x, y), __NV_SATFINITE, __NV_E4M3);
  memcpy(to, &both, sizeof(both));
}
#endif

}  // namespace tandem
