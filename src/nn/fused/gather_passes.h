// The passes of a first layer that is gathered (GatheredFeatures): its sums, and the gradients of
// its weights. The code does not need LibTorch.
#pragma once

#include <cstdint>
#include <type_traits>

#include "nn/fused/simd_pass.h"

namespace tandem {

/// Sums the rows of `matrix` (positions * depth, width) that belong to the features that are 1.
/// Feature depth * p + v is 1 if byte p of the row is v. T may also be a 16-bit whole number, whose
/// sums must not overflow. Where a row has most bytes in common with the row before, its sums are
/// then made from those of the row before: whole numbers give the same sums in any order.
template <class T>
struct GatherRows {
  using Sum = std::conditional_t<std::is_integral_v<T>, T, float>;
  std::int64_t rows, positions, depth, width;
  const std::uint8_t* bytes;  ///< (rows, positions)
  const T* matrix;
  Sum* sums;  ///< (rows, width)
};

/// Sorts the numbers of the rows by byte `position` of `bytes`, and equal ones in ascending order.
/// Those of byte v are in `order` from ends[v - 1], or 0, to ends[v].
struct SortRows {
  std::int64_t rows, positions, position, depth;
  const std::uint8_t* bytes;  ///< (rows, positions), each below `depth`
  std::uint32_t* order;       ///< (rows)
  std::uint32_t* ends;        ///< (depth)
};

/// Adds rows of `gradient` (rows, width) to `width` numbers of each row v of `into`, which begins
/// at v * stride: those rows that `order` and `ends`, of SortRows, give for v, in their order.
template <class T>
struct ScatterRows {
  std::int64_t depth, width, stride;
  const std::uint32_t *order, *ends;
  const T* gradient;
  float* into;

  /// The width with which it is fastest.
  static constexpr std::int64_t kBestWidth = 128;
};

}  // namespace tandem
