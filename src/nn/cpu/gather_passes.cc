#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <utility>

#include "nn/bf16.h"
#include "nn/cpu/passes.h"
#include "nn/cpu/simd_dispatch.h"

// GCC warns that functions which return vectors are called differently with other instruction sets.
// Those below are inlined and never called.
#pragma GCC diagnostic ignored "-Wpsabi"

namespace tandem {
namespace {

// Rows of the first layer may be whole numbers, whose sums are exact.
using tandem::Widen;
TANDEM_INLINE std::int16_t Widen(std::int16_t x) { return x; }

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

// Adds the columns of even and of odd number apart: halves of a word, which one instruction widens.
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
    using Indices = std::make_integer_sequence<int, kLanes>;
#pragma GCC unroll 8
    for (std::int64_t i = 0; i < kVectors; ++i) {
      Floats first;
      Floats second;
      std::memcpy(&first, from + 2 * i * kLanes, sizeof(first));
      std::memcpy(&second, from + (2 * i + 1) * kLanes, sizeof(second));
      even[i] = EverySecond<0>(first, second, Indices{});
      odd[i] = EverySecond<1>(first, second, Indices{});
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
  // The numbers kFirst, kFirst + 2 and so on of a and b.
  template <int kFirst, int... kIndices>
  TANDEM_INLINE static Floats EverySecond(Floats a, Floats b,
                                          std::integer_sequence<int, kIndices...> /*indices*/) {
    return __builtin_shufflevector(a, b, (kFirst + 2 * kIndices)...);
  }
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

}  // namespace

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

TANDEM_PASS(GatherRows<float>);
TANDEM_PASS(GatherRows<Bf16>);
TANDEM_PASS(GatherRows<std::int16_t>);
TANDEM_PASS(SortRows);
TANDEM_PASS(ScatterRows<float>);
TANDEM_PASS(ScatterRows<Bf16>);

}  // namespace tandem
