// Numbers in bf16, and their conversion from and to fp32. GPU code includes this header too.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

#ifdef __CUDACC__
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
  std::uint32_t bits = 0;
  std::memcpy(&bits, &x, sizeof(bits));
  const std::uint32_t rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16;
  to = static_cast<Bf16>(x == x ? rounded : 0x7FC0);
}

}  // namespace tandem

#undef TANDEM_BF16_INLINE
