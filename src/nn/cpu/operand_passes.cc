#include <array>
#include <cstddef>
#include <cstring>

#include "nn/cpu/passes.h"
#include "nn/cpu/simd_dispatch.h"

namespace tandem {

namespace {

// Transposes a block that begins at `from` and `to`. Whole blocks have a constant size, so that the
// compiler unrolls their loops.
TANDEM_INLINE void TransposeBlock(const TransposeWords& p, const std::uint32_t* __restrict from,
                                  std::uint32_t* __restrict to, std::int64_t rows,
                                  std::int64_t columns) {
  for (std::int64_t c = 0; c < columns; ++c) {
#pragma omp simd
    for (std::int64_t r = 0; r < rows; ++r) to[c * p.to_stride + r] = from[r * p.columns + c];
  }
}

// kUnits by kVectors registers of sums of outer products, of the inputs from `first` on. If not
// kWhole, there are fewer inputs than one register holds.
template <std::int64_t kLanes, std::int64_t kUnits, std::int64_t kVectors, bool kWhole>
TANDEM_INLINE void SumOuterBlock(const SumOuterProducts& p, std::int64_t unit, std::int64_t first) {
  using Vector = typename Registers<kLanes>::Floats;
  const auto bytes = static_cast<std::size_t>(kWhole ? kLanes : p.inputs - first) * sizeof(float);
  std::array<std::array<Vector, kVectors>, kUnits> sums{};
  if (p.add) {
#pragma GCC unroll 16
    for (std::int64_t u = 0; u < kUnits; ++u) {
#pragma GCC unroll 16
      for (std::int64_t v = 0; v < kVectors; ++v) {
        std::memcpy(&sums[u][v], p.into + (unit + u) * p.into_stride + first + v * kLanes, bytes);
      }
    }
  }
  const float* gradient = p.gradient + unit;
  const float* x = p.x + first;
  for (std::int64_t r = 0; r < p.rows; ++r) {
    std::array<Vector, kVectors> row{};
#pragma GCC unroll 16
    for (std::int64_t v = 0; v < kVectors; ++v) {
      std::memcpy(&row[v], x + v * kLanes, sizeof(Vector));
    }
#pragma GCC unroll 16
    for (std::int64_t u = 0; u < kUnits; ++u) {
#pragma GCC unroll 16
      for (std::int64_t v = 0; v < kVectors; ++v) sums[u][v] += gradient[u] * row[v];
    }
    gradient += p.gradient_stride;
    x += p.x_stride;
  }
#pragma GCC unroll 16
  for (std::int64_t u = 0; u < kUnits; ++u) {
#pragma GCC unroll 16
    for (std::int64_t v = 0; v < kVectors; ++v) {
      std::memcpy(p.into + (unit + u) * p.into_stride + first + v * kLanes, &sums[u][v], bytes);
    }
  }
}

// All units with the inputs from `first` on that kVectors registers hold.
template <std::int64_t kLanes, std::int64_t kVectors, bool kWhole>
TANDEM_INLINE void SumOuterColumns(const SumOuterProducts& p, std::int64_t first) {
  constexpr std::int64_t kUnits = 4;
  std::int64_t unit = 0;
  for (; unit + kUnits <= p.units; unit += kUnits) {
    SumOuterBlock<kLanes, kUnits, kVectors, kWhole>(p, unit, first);
  }
  for (; unit < p.units; ++unit) SumOuterBlock<kLanes, 1, kVectors, kWhole>(p, unit, first);
}

}  // namespace

TANDEM_INLINE void Run(const PairRows& p) {
  for (std::int64_t r = 0; r < p.rows; r += 2) {
    const Bf16* __restrict first = p.from + r * p.from_stride;
    const Bf16* __restrict second = first + p.from_stride;
    std::uint32_t* __restrict to = p.to + r / 2 * p.width;
    if (r + 1 < p.rows) {
#pragma omp simd
      for (std::int64_t c = 0; c < p.width; ++c) {
        to[c] = static_cast<std::uint32_t>(first[c]) | static_cast<std::uint32_t>(second[c]) << 16;
      }
    } else {
      for (std::int64_t c = 0; c < p.width; ++c) to[c] = static_cast<std::uint32_t>(first[c]);
    }
  }
}

// Blocks of 16 x 16 words: each touches 16 cache lines of either matrix.
TANDEM_INLINE void Run(const TransposeWords& p) {
  constexpr std::int64_t kBlock = 16;
  for (std::int64_t row = 0; row < p.rows; row += kBlock) {
    const std::int64_t rows = p.rows - row < kBlock ? p.rows - row : kBlock;
    for (std::int64_t column = 0; column < p.columns; column += kBlock) {
      const std::int64_t columns = p.columns - column < kBlock ? p.columns - column : kBlock;
      const std::uint32_t* from = p.from + row * p.columns + column;
      std::uint32_t* to = p.to + column * p.to_stride + row;
      if (rows == kBlock && columns == kBlock) {
        TransposeBlock(p, from, to, kBlock, kBlock);
      } else {
        TransposeBlock(p, from, to, rows, columns);
      }
    }
  }
}

TANDEM_INLINE void Run(const RoundToBf16& p) {
  const float* __restrict from = p.from;
  Bf16* __restrict to = p.to;
#pragma omp simd
  for (std::int64_t i = 0; i < p.count; ++i) Narrow(from[i], to[i]);
}

template <std::int64_t kLanes>
TANDEM_INLINE void Run(const SumOuterProducts& p, Registers<kLanes> /*registers*/) {
  constexpr std::int64_t kVectors = Registers<kLanes>::kSums / kLanes / 4;
  std::int64_t first = 0;
  for (; first + kVectors * kLanes <= p.inputs; first += kVectors * kLanes) {
    SumOuterColumns<kLanes, kVectors, true>(p, first);
  }
  for (; first + kLanes <= p.inputs; first += kLanes) SumOuterColumns<kLanes, 1, true>(p, first);
  if (first < p.inputs) SumOuterColumns<kLanes, 1, false>(p, first);
}

TANDEM_PASS(PairRows);
TANDEM_PASS(TransposeWords);
TANDEM_PASS(RoundToBf16);
TANDEM_PASS(SumOuterProducts);

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
