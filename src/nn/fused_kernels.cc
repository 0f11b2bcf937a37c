#include "nn/fused_kernels.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <utility>

// The passes are plain loops, except for sums that must stay in registers (Registers). Each is
// inlined into one function per instruction set, for which the compiler vectorises it. Sums over a
// row need `omp simd`, which lets the compiler change their order.
#define TANDEM_INLINE [[gnu::always_inline]] inline

namespace tandem {
namespace {

constexpr float kEpsilon = 1e-5F;  // Dense::kEpsilon

// Rows of the first layer may be whole numbers, whose sums are exact.
using tandem::Widen;
TANDEM_INLINE std::int16_t Widen(std::int16_t x) { return x; }

// ReLU (slope 0) and leaky ReLU.
struct PiecewiseLinear {
  float slope;
  TANDEM_INLINE float operator()(float x) const { return x > 0 ? x : slope * x; }
  TANDEM_INLINE float Derivative(float x) const { return x > 0 ? 1 : slope; }
};

// exp(x) for x up to 88, with a relative error below 1e-6. 2^n is made from its bits, and 2^f for
// -1/2 <= f <= 1/2 is a Taylor polynomial. std::exp would not be vectorised.
TANDEM_INLINE float Exp(float x) {
  constexpr float kLog2E = 1.44269504F;
  constexpr float kRound = 12582912;  // 1.5 * 2^23: adding it rounds to a whole number
  const float clamped = x < -87 ? -87 : (x > 88 ? 88 : x);
  const float rounded = clamped * kLog2E + kRound;
  const float n = rounded - kRound;
  float f = clamped - n * 0.693359375F;  // ln 2 in two parts, so that the difference is exact
  f = f + n * 2.12194440e-4F;
  float p = 1.0F / 720;
  p = p * f + 1.0F / 120;
  p = p * f + 1.0F / 24;
  p = p * f + 1.0F / 6;
  p = p * f + 0.5F;
  p = p * f + 1;
  p = p * f + 1;
  const auto bits = std::bit_cast<std::int32_t>(rounded) - std::bit_cast<std::int32_t>(kRound);
  return p * std::bit_cast<float>((bits + 127) << 23);
}

struct Silu {
  TANDEM_INLINE static float Sigmoid(float x) { return 1 / (1 + Exp(-x)); }
  TANDEM_INLINE float operator()(float x) const { return x * Sigmoid(x); }
  // NOLINTNEXTLINE(readability-convert-member-functions-to-static): as those of other activations
  TANDEM_INLINE float Derivative(float x) const {
    const float s = Sigmoid(x);
    return s * (1 + x * (1 - s));
  }
};

// A row of the residual connection, or zeros.
template <class T, bool kSkip>
struct Skip {
  const T* __restrict row;
  TANDEM_INLINE float operator[](std::int64_t c) const { return kSkip ? Widen(row[c]) : 0; }
};

template <class T, class Function, bool kSkip>
TANDEM_INLINE void Forward(const ActivateRows<T>& p, const Function function) {
  const std::int64_t width = p.layer.width;
  const float* __restrict bias = p.layer.bias;
  const float* __restrict scale = p.layer.scale;
  const float* __restrict shift = p.layer.shift;
  const auto n = static_cast<float>(width);
  for (std::int64_t r = 0; r < p.rows; ++r) {
    float* __restrict z = p.z + r * width;
    T* __restrict out = p.out + r * width;
    const Skip<T, kSkip> skip{kSkip ? p.skip + r * width : nullptr};
    if (p.layer.norm == Norm::kNone) {
      p.inverse_deviation[r] = 1;
#pragma omp simd
      for (std::int64_t c = 0; c < width; ++c) {
        z[c] += bias[c];
        Narrow(function(z[c] * scale[c] + shift[c] + skip[c]), out[c]);
      }
      continue;
    }
    float mean = 0;
    float sum = 0;
#pragma omp simd reduction(+ : sum)
    for (std::int64_t c = 0; c < width; ++c) {
      z[c] += bias[c];
      sum += z[c];
    }
    if (p.layer.norm == Norm::kLayer) mean = sum / n;
    float squares = 0;
#pragma omp simd reduction(+ : squares)
    for (std::int64_t c = 0; c < width; ++c) squares += (z[c] - mean) * (z[c] - mean);
    const float inverse = 1 / std::sqrt(squares / n + kEpsilon);
    p.inverse_deviation[r] = inverse;
#pragma omp simd
    for (std::int64_t c = 0; c < width; ++c) {
      z[c] = (z[c] - mean) * inverse;
      Narrow(function(z[c] * scale[c] + shift[c] + skip[c]), out[c]);
    }
  }
}

// With n the normalised values, h the gradient of n, and <> the mean over a row, the gradient of
// the product is (h - <h> - n <h n>) / deviation for layer normalisation, the same without <h> for
// RMSNorm, and h without a normalisation.
template <class T, class Function, bool kSkip>
TANDEM_INLINE void Backward(const ActivateRowsBackward<T>& p, const Function function) {
  const std::int64_t width = p.layer.width;
  const float* __restrict scale = p.layer.scale;
  const float* __restrict shift = p.layer.shift;
  float* __restrict bias_sums = p.bias_sums;
  float* __restrict scale_sums = p.scale_sums;
  float* __restrict shift_sums = p.shift_sums;
  const auto n = static_cast<float>(width);
  for (std::int64_t r = 0; r < p.rows; ++r) {
    const float* __restrict z = p.z + r * width;
    float* __restrict gradient = p.gradient + r * width;
    T* __restrict out = p.product_gradient + r * width;
    const Skip<T, kSkip> skip{kSkip ? p.skip + r * width : nullptr};
    float sum = 0;
    float products = 0;
#pragma omp simd reduction(+ : sum, products)
    for (std::int64_t c = 0; c < width; ++c) {
      const float g = gradient[c] * function.Derivative(z[c] * scale[c] + shift[c] + skip[c]);
      gradient[c] = g;
      shift_sums[c] += g;
      scale_sums[c] += g * z[c];
      sum += g * scale[c];
      products += g * scale[c] * z[c];
    }
    const float mean = p.layer.norm == Norm::kLayer ? sum / n : 0;
    const float slope = p.layer.norm == Norm::kNone ? 0 : products / n;
    const float inverse = p.inverse_deviation[r];
#pragma omp simd
    for (std::int64_t c = 0; c < width; ++c) {
      const float d = (gradient[c] * scale[c] - mean - z[c] * slope) * inverse;
      bias_sums[c] += d;
      Narrow(d, out[c]);
    }
  }
}

// The slope below 0 of a layer's activation, which is not SiLU.
TANDEM_INLINE float SlopeOf(const HiddenLayer& layer) {
  if (layer.linear) return 1;
  return layer.activation == Activation::kRelu ? 0 : 0.01F;
}

template <class T>
TANDEM_INLINE void Run(const ActivateRows<T>& p) {
  if (p.layer.activation == Activation::kSilu && !p.layer.linear) {
    p.skip != nullptr ? Forward<T, Silu, true>(p, {}) : Forward<T, Silu, false>(p, {});
    return;
  }
  const PiecewiseLinear linear{SlopeOf(p.layer)};
  p.skip != nullptr ? Forward<T, PiecewiseLinear, true>(p, linear)
                    : Forward<T, PiecewiseLinear, false>(p, linear);
}

template <class T>
TANDEM_INLINE void Run(const ActivateRowsBackward<T>& p) {
  if (p.layer.activation == Activation::kSilu && !p.layer.linear) {
    p.skip != nullptr ? Backward<T, Silu, true>(p, {}) : Backward<T, Silu, false>(p, {});
    return;
  }
  const PiecewiseLinear linear{SlopeOf(p.layer)};
  p.skip != nullptr ? Backward<T, PiecewiseLinear, true>(p, linear)
                    : Backward<T, PiecewiseLinear, false>(p, linear);
}

template <class Function>
TANDEM_INLINE void Forward(const ActivateSums& p, const Function function) {
  const std::int64_t width = p.layer.width;
  const float* __restrict unit_scale = p.unit_scale;
  const float* __restrict bias = p.layer.bias;
  const float* __restrict scale = p.layer.scale;
  const float* __restrict shift = p.layer.shift;
  for (std::int64_t r = 0; r < p.rows; ++r) {
    const std::int16_t* __restrict sums = p.sums + r * width;
    Bf16* __restrict out = p.out + r * width;
    float inverse = 1;
    if (p.layer.norm != Norm::kNone) {
      float squares = 0;
#pragma omp simd reduction(+ : squares)
      for (std::int64_t c = 0; c < width; ++c) {
        const float z = static_cast<float>(sums[c]) * unit_scale[c] + bias[c];
        squares += z * z;
      }
      inverse = 1 / std::sqrt(squares / static_cast<float>(width) + kEpsilon);
    }
#pragma omp simd
    for (std::int64_t c = 0; c < width; ++c) {
      const float z = static_cast<float>(sums[c]) * unit_scale[c] + bias[c];
      Narrow(function(z * inverse * scale[c] + shift[c]), out[c]);
    }
  }
}

TANDEM_INLINE void Run(const ActivateSums& p) {
  if (p.layer.activation == Activation::kSilu && !p.layer.linear) return Forward(p, Silu{});
  Forward(p, PiecewiseLinear{SlopeOf(p.layer)});
}

TANDEM_INLINE void Run(const ColumnMoments& p) {
  const auto n = static_cast<float>(p.rows);
  float* __restrict mean = p.mean;
  float* __restrict squares = p.squares;
  for (std::int64_t c = 0; c < p.width; ++c) mean[c] = squares[c] = 0;
  for (std::int64_t r = 0; r < p.rows; ++r) {
    const float* __restrict z = p.z + r * p.width;
#pragma omp simd
    for (std::int64_t c = 0; c < p.width; ++c) mean[c] += z[c];
  }
  for (std::int64_t c = 0; c < p.width; ++c) mean[c] /= n;
  for (std::int64_t r = 0; r < p.rows; ++r) {
    const float* __restrict z = p.z + r * p.width;
#pragma omp simd
    for (std::int64_t c = 0; c < p.width; ++c) squares[c] += (z[c] - mean[c]) * (z[c] - mean[c]);
  }
}

TANDEM_INLINE void Run(const NormaliseColumns& p) {
  const float* __restrict mean = p.mean;
  const float* __restrict inverse = p.inverse_deviation;
  for (std::int64_t r = 0; r < p.rows; ++r) {
    float* __restrict z = p.z + r * p.width;
#pragma omp simd
    for (std::int64_t c = 0; c < p.width; ++c) z[c] = (z[c] - mean[c]) * inverse[c];
  }
}

template <class T>
TANDEM_INLINE void Run(const NormaliseColumnsBackward<T>& p) {
  const float* __restrict scale = p.scale;
  const float* __restrict inverse = p.inverse_deviation;
  const float* __restrict mean = p.mean_gradient;
  const float* __restrict slope = p.mean_product;
  for (std::int64_t r = 0; r < p.rows; ++r) {
    const float* __restrict z = p.z + r * p.width;
    const float* __restrict gradient = p.gradient + r * p.width;
    T* __restrict out = p.product_gradient + r * p.width;
#pragma omp simd
    for (std::int64_t c = 0; c < p.width; ++c) {
      Narrow((gradient[c] - mean[c] - z[c] * slope[c]) * (scale[c] * inverse[c]), out[c]);
    }
  }
}

// GCC warns that functions which return vectors are called differently with other instruction sets.
// Those below are inlined and never called.
#pragma GCC diagnostic ignored "-Wpsabi"

// Registers of the instruction set, which hold kLanes numbers of 32 bits. Sums in an array of
// floats would be stored after each row, and GCC keeps larger vectors than registers in memory.
template <std::int64_t kLanes>
struct Registers {
  using Floats [[gnu::vector_size(4 * kLanes)]] = float;
  using Words [[gnu::vector_size(4 * kLanes)]] = std::uint32_t;

  /// How many numbers to add up at a time, in half of all registers: AVX-512 has 32, others 16.
  static constexpr std::int64_t kSums = kLanes == 16 ? 16 * kLanes : 8 * kLanes;
};

// kColumns sums in registers.
template <class T, std::int64_t kLanes, std::int64_t kColumns>
struct Sums {
  using Floats = typename Registers<kLanes>::Floats;
  static constexpr std::int64_t kVectors = kColumns / kLanes;
  std::array<Floats, kVectors> sums;

  TANDEM_INLINE void Add(const float* row) {
#pragma GCC unroll 16
    for (std::int64_t i = 0; i < kVectors; ++i) {
      Floats more;
      std::memcpy(&more, row + i * kLanes, sizeof(more));
      sums[i] += more;
    }
  }
  TANDEM_INLINE void Load(const float* from) { std::memcpy(&sums, from, sizeof(sums)); }
  TANDEM_INLINE void Store(float* to) const { std::memcpy(to, &sums, sizeof(sums)); }
};

// Adds the columns of even and of odd number apart. Each is half of a 32-bit word, so one
// instruction widens it.
template <std::int64_t kLanes, std::int64_t kColumns>
struct Sums<Bf16, kLanes, kColumns> {
  using Floats = typename Registers<kLanes>::Floats;
  using Words = typename Registers<kLanes>::Words;
  static constexpr std::int64_t kVectors = kColumns / kLanes / 2;
  std::array<Floats, kVectors> even, odd;

  TANDEM_INLINE static Words WordsAt(const Bf16* row, std::int64_t i) {
    Words words;
    std::memcpy(&words, row + 2 * i * kLanes, sizeof(words));
    return words;
  }
  TANDEM_INLINE static Floats Even(Words words) { return reinterpret_cast<Floats>(words << 16); }
  TANDEM_INLINE static Floats Odd(Words words) {
    return reinterpret_cast<Floats>(words & 0xFFFF0000U);
  }

  TANDEM_INLINE void Add(const Bf16* row) {
#pragma GCC unroll 8
    for (std::int64_t i = 0; i < kVectors; ++i) {
      const Words words = WordsAt(row, i);
      even[i] += Even(words);
      odd[i] += Odd(words);
    }
  }
  TANDEM_INLINE void Add(const Bf16* a, const Bf16* b, const Bf16* c, const Bf16* d) {
#pragma GCC unroll 8
    for (std::int64_t i = 0; i < kVectors; ++i) {
      const Words p = WordsAt(a, i);
      const Words q = WordsAt(b, i);
      const Words r = WordsAt(c, i);
      const Words s = WordsAt(d, i);
      even[i] += (Even(p) + Even(q)) + (Even(r) + Even(s));
      odd[i] += (Odd(p) + Odd(q)) + (Odd(r) + Odd(s));
    }
  }
  TANDEM_INLINE void Load(const float* from) {
    for (std::int64_t c = 0; c < kVectors * kLanes; ++c) {
      even[c / kLanes][c % kLanes] = from[2 * c];
      odd[c / kLanes][c % kLanes] = from[2 * c + 1];
    }
  }
  TANDEM_INLINE void Store(float* to) const {
    using Indices = std::make_integer_sequence<int, kLanes>;
#pragma GCC unroll 8
    for (std::int64_t i = 0; i < kVectors; ++i) {
      const Floats first = Alternate<0>(even[i], odd[i], Indices{});
      const Floats second = Alternate<kLanes / 2>(even[i], odd[i], Indices{});
      std::memcpy(to + 2 * i * kLanes, &first, sizeof(first));
      std::memcpy(to + (2 * i + 1) * kLanes, &second, sizeof(second));
    }
  }

 private:
  // a[kFirst], b[kFirst], a[kFirst + 1], b[kFirst + 1] and so on.
  template <int kFirst, int... kIndices>
  TANDEM_INLINE static Floats Alternate(Floats a, Floats b,
                                        std::integer_sequence<int, kIndices...> /*indices*/) {
    return __builtin_shufflevector(a, b, (kFirst + kIndices / 2 + kIndices % 2 * kLanes)...);
  }
};

// Columns from `first` on of row r of the sums, from the rows of the matrix. Adds four rows at a
// time, so that sums are read and written a quarter as often.
template <class T>
TANDEM_INLINE void GatherColumns(const GatherRows<T>& p, std::int64_t r, std::int64_t first) {
  using Sum = typename GatherRows<T>::Sum;
  const std::uint8_t* bytes = p.bytes + r * p.positions;
  Sum* __restrict to = p.sums + r * p.width;
  for (std::int64_t c = first; c < p.width; ++c) to[c] = 0;
  std::int64_t i = 0;
  for (; i + 4 <= p.positions; i += 4) {
    const T* __restrict a = p.matrix + (i * p.depth + bytes[i]) * p.width;
    const T* __restrict b = p.matrix + ((i + 1) * p.depth + bytes[i + 1]) * p.width;
    const T* __restrict c = p.matrix + ((i + 2) * p.depth + bytes[i + 2]) * p.width;
    const T* __restrict d = p.matrix + ((i + 3) * p.depth + bytes[i + 3]) * p.width;
#pragma omp simd
    for (std::int64_t k = first; k < p.width; ++k) {
      to[k] = static_cast<Sum>(to[k] + ((Widen(a[k]) + Widen(b[k])) + (Widen(c[k]) + Widen(d[k]))));
    }
  }
  for (; i < p.positions; ++i) {
    const T* __restrict row = p.matrix + (i * p.depth + bytes[i]) * p.width;
#pragma omp simd
    for (std::int64_t k = first; k < p.width; ++k) to[k] = static_cast<Sum>(to[k] + Widen(row[k]));
  }
}

template <std::int64_t kLanes, class T>
TANDEM_INLINE void GatherRow(const GatherRows<T>& p, std::int64_t r) {
  GatherColumns(p, r, 0);
}

// Sums in registers, and added in the same order.
template <std::int64_t kLanes>
TANDEM_INLINE void GatherRow(const GatherRows<Bf16>& p, std::int64_t r) {
  constexpr std::int64_t kColumns = Registers<kLanes>::kSums;
  const std::uint8_t* bytes = p.bytes + r * p.positions;
  std::int64_t first = 0;
  for (; first + kColumns <= p.width; first += kColumns) {
    const auto row = [&](std::int64_t i) {
      return p.matrix + (i * p.depth + bytes[i]) * p.width + first;
    };
    Sums<Bf16, kLanes, kColumns> sums{};
    std::int64_t i = 0;
    for (; i + 4 <= p.positions; i += 4) sums.Add(row(i), row(i + 1), row(i + 2), row(i + 3));
    for (; i < p.positions; ++i) sums.Add(row(i));
    sums.Store(p.sums + r * p.width + first);
  }
  if (first < p.width) GatherColumns(p, r, first);
}

// Row r > 0 of the sums, from the row before and the bytes in which the two differ, two at a time.
template <class T>
TANDEM_INLINE void GatherDifference(const GatherRows<T>& p, std::int64_t r) {
  const std::uint8_t* bytes = p.bytes + r * p.positions;
  const std::uint8_t* before = bytes - p.positions;
  T* to = p.sums + r * p.width;
  const T* from = to - p.width;
  std::array<const T*, 2> added = {};
  std::array<const T*, 2> removed = {};
  std::size_t pending = 0;
  for (std::int64_t i = 0; i < p.positions; ++i) {
    if (bytes[i] == before[i]) continue;
    added[pending] = p.matrix + (i * p.depth + bytes[i]) * p.width;
    removed[pending] = p.matrix + (i * p.depth + before[i]) * p.width;
    if (++pending < 2) continue;
    pending = 0;
    const T* a = added[0];
    const T* b = added[1];
    const T* c = removed[0];
    const T* d = removed[1];
#pragma omp simd
    for (std::int64_t k = 0; k < p.width; ++k) {
      to[k] = static_cast<T>(from[k] + a[k] - c[k] + b[k] - d[k]);
    }
    from = to;
  }
  if (pending == 0) {
    if (from != to) std::copy_n(from, p.width, to);
    return;
  }
  const T* a = added[0];
  const T* c = removed[0];
#pragma omp simd
  for (std::int64_t k = 0; k < p.width; ++k) to[k] = static_cast<T>(from[k] + a[k] - c[k]);
}

// The number of bytes in which row r > 0 differs from the row before.
template <class T>
TANDEM_INLINE std::int64_t NumDifferent(const GatherRows<T>& p, std::int64_t r) {
  const std::uint8_t* bytes = p.bytes + r * p.positions;
  std::int64_t different = 0;
  for (std::int64_t i = 0; i < p.positions; ++i) different += bytes[i] != bytes[i - p.positions];
  return different;
}

template <std::int64_t kLanes, class T>
TANDEM_INLINE void Run(const GatherRows<T>& p, Registers<kLanes> /*registers*/) {
  for (std::int64_t r = 0; r < p.rows; ++r) {
    if constexpr (std::is_integral_v<T>) {
      if (r > 0 && 2 * NumDifferent(p, r) < p.positions) {
        GatherDifference(p, r);
        continue;
      }
    }
    GatherRow<kLanes>(p, r);
  }
}

TANDEM_INLINE void Run(const SortRows& p) {
  const std::uint8_t* bytes = p.bytes + p.position;
  for (std::int64_t v = 0; v < p.depth; ++v) p.ends[v] = 0;
  for (std::int64_t r = 0; r < p.rows; ++r) ++p.ends[bytes[r * p.positions]];
  std::uint32_t before = 0;
  for (std::int64_t v = 0; v < p.depth; ++v) before = std::exchange(p.ends[v], before) + before;
  for (std::int64_t r = 0; r < p.rows; ++r) {
    p.order[p.ends[bytes[r * p.positions]]++] = static_cast<std::uint32_t>(r);
  }
}

template <std::int64_t kLanes, class T>
TANDEM_INLINE void Run(const ScatterRows<T>& p, Registers<kLanes> /*registers*/) {
  constexpr std::int64_t kColumns = std::min(Registers<kLanes>::kSums, ScatterRows<T>::kBestWidth);
  std::uint32_t begin = 0;
  for (std::int64_t v = 0; v < p.depth; begin = p.ends[v], ++v) {
    float* __restrict to = p.into + v * p.stride;
    std::int64_t first = 0;
    for (; first + kColumns <= p.width; first += kColumns) {
      Sums<T, kLanes, kColumns> sums{};
      sums.Load(to + first);
      for (std::uint32_t i = begin; i < p.ends[v]; ++i) {
        sums.Add(p.gradient + p.order[i] * p.width + first);
      }
      sums.Store(to + first);
    }
    if (first == p.width) continue;
    for (std::uint32_t i = begin; i < p.ends[v]; ++i) {
      const T* __restrict from = p.gradient + p.order[i] * p.width;
#pragma omp simd
      for (std::int64_t c = first; c < p.width; ++c) to[c] += Widen(from[c]);
    }
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

template <class T>
TANDEM_INLINE void Run(const OutputRows<T>& p) {
  for (std::int64_t r = 0; r < p.rows; ++r) {
    const T* __restrict x = p.x + r * p.width;
    for (std::int64_t o = 0; o < p.outputs; ++o) {
      const float* __restrict weight = p.weight + o * p.width;
      float sum = 0;
#pragma omp simd reduction(+ : sum)
      for (std::int64_t c = 0; c < p.width; ++c) sum += Widen(x[c]) * weight[c];
      p.y[r * p.outputs + o] = sum + p.bias[o];
    }
  }
}

template <class T>
TANDEM_INLINE void Run(const OutputRowsBackward<T>& p) {
  for (std::int64_t r = 0; r < p.rows; ++r) {
    const T* __restrict x = p.x + r * p.width;
    float* __restrict gradient = p.x_gradient + r * p.width;
    for (std::int64_t c = 0; c < p.width; ++c) gradient[c] = 0;
    for (std::int64_t o = 0; o < p.outputs; ++o) {
      const float g = p.y_gradient[r * p.outputs + o];
      const float* __restrict weight = p.weight + o * p.width;
      float* __restrict sums = p.weight_sums + o * p.width;
      p.bias_sums[o] += g;
#pragma omp simd
      for (std::int64_t c = 0; c < p.width; ++c) {
        gradient[c] += g * weight[c];
        sums[c] += g * Widen(x[c]);
      }
    }
  }
}

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

TANDEM_INLINE void Run(const RoundToBf16& p) {
  const float* __restrict from = p.from;
  Bf16* __restrict to = p.to;
#pragma omp simd
  for (std::int64_t i = 0; i < p.count; ++i) Narrow(from[i], to[i]);
}

template <class T>
TANDEM_INLINE void Run(const QuantizeRows<T>& p) {
  for (std::int64_t r = 0; r < p.rows; ++r) {
    const T* __restrict x = p.x + r * p.width;
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

// A pass on its own copy of the description: the compiler sees that no store changes it, so it does
// not load a width or a pointer again after each store.
template <std::int64_t kLanes, class Pass>
TANDEM_INLINE void RunCopy(const Pass pass) {
  if constexpr (requires { Run(pass, Registers<kLanes>{}); }) {
    Run(pass, Registers<kLanes>{});
  } else {
    Run(pass);
  }
}

#if defined(__x86_64__)
// Without the last setting, GCC uses half of a register of AVX-512.
template <class Pass>
__attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,fma,prefer-vector-width=512"))) void
RunAvx512(const Pass& pass) {
  RunCopy<16>(pass);
}

template <class Pass>
__attribute__((target("avx2,fma"))) void RunAvx2(const Pass& pass) {
  RunCopy<8>(pass);
}
#endif

}  // namespace

InstructionSet BestInstructionSet() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512vl")) {
    return InstructionSet::kAvx512;
  }
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    return InstructionSet::kAvx2;
  }
#endif
  return InstructionSet::kBaseline;
}

template <class Pass>
void RunPass(const Pass& pass, [[maybe_unused]] InstructionSet set) {
#if defined(__x86_64__)
  if (set == InstructionSet::kAvx512) return RunAvx512(pass);
  if (set == InstructionSet::kAvx2) return RunAvx2(pass);
#endif
  RunCopy<4>(pass);
}

template <class Pass>
void RunPass(const Pass& pass) {
  static const InstructionSet best = BestInstructionSet();
  RunPass(pass, best);
}

#define TANDEM_PASS(Pass)             \
  template void RunPass(const Pass&); \
  template void RunPass(const Pass&, InstructionSet)
#define TANDEM_PASSES_OF(T)             \
  TANDEM_PASS(GatherRows<T>);           \
  TANDEM_PASS(ScatterRows<T>);          \
  TANDEM_PASS(ActivateRows<T>);         \
  TANDEM_PASS(ActivateRowsBackward<T>); \
  TANDEM_PASS(OutputRows<T>);           \
  TANDEM_PASS(OutputRowsBackward<T>);   \
  TANDEM_PASS(QuantizeRows<T>);         \
  TANDEM_PASS(NormaliseColumnsBackward<T>)
TANDEM_PASSES_OF(float);
TANDEM_PASSES_OF(Bf16);
TANDEM_PASS(GatherRows<std::int16_t>);
TANDEM_PASS(RoundToIntegers);
TANDEM_PASS(ActivateSums);
TANDEM_PASS(PairRows);
TANDEM_PASS(SortRows);
TANDEM_PASS(TransposeWords);
TANDEM_PASS(SumOuterProducts);
TANDEM_PASS(RoundToBf16);
TANDEM_PASS(DequantizeRows);
TANDEM_PASS(ColumnMoments);
TANDEM_PASS(NormaliseColumns);

}  // namespace tandem
