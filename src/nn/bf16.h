// Numbers in bf16, and their conversion from and to fp32. GPU code includes this header too.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

#ifdef __CUDACC__
#include <cuda_bf16.h>
#define TANDEM_BF16_INLINE __host__ __device__ __forceinline__
#else
#define TANDEM_BF16_INLINE [[gnu::always_inline]] inline  // into versions for instruction sets
#endif

namespace tandem {

/// Bf16 is a number in bf16: the upper half of a float.
enum class Bf16 : std::uint16_t {};

template <class T>
inline constexpr bool kIsBf16 = std::is_same_v<T, Bf16>;

TANDEM_BF16_INLINE float Widen(float x) { return x; }
TANDEM_BF16_INLINE float Widen(Bf16 x) {
  const std::uint32_t bits = static_cast<std::uint32_t>(x) << 16;
  float wide = 0;
  std::memcpy(&wide, &bits, sizeof(wide));
  return wide;
}

/// Rounds to nearest, ties to even. NaN stays NaN.
TANDEM_BF16_INLINE void Narrow(float x, float& to) { to = x; }
TANDEM_BF16_INLINE void Narrow(float x, Bf16& to) {
#ifdef __CUDA_ARCH__
  to = static_cast<Bf16>(__bfloat16_as_ushort(__float2bfloat16_rn(x)));
#else
  std::uint32_t bits = 0;
  std::memcpy(&bits, &x, sizeof(bits));
  const std::uint32_t rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16;
  to = static_cast<Bf16>(x == x ? rounded : 0x7FC0);
#endif
}

#ifdef __CUDA_ARCH__
// Two numbers at once, which takes a GPU fewer instructions.
TANDEM_BF16_INLINE void WidenTwo(const Bf16* from, float& x, float& y) {
  std::uint32_t both = 0;
  std::memcpy(&both, from, sizeof(both));
  x = __uint_as_float(both << 16);
  y = __uint_as_float(both & 0xFFFF0000U);
}
TANDEM_BF16_INLINE void WidenTwo(const float* from, float& x, float& y) {
  x = from[0];
  y = from[1];
}
TANDEM_BF16_INLINE void NarrowTwo(float x, float y, Bf16* to) {
  const __nv_bfloat162 both = __floats2bfloat162_rn(x, y);
  std::memcpy(to, &both, sizeof(both));
}
TANDEM_BF16_INLINE void NarrowTwo(float x, float y, float* to) {
  to[0] = x;
  to[1] = y;
}
#endif

}  // namespace tandem

#undef TANDEM_BF16_INLINE
