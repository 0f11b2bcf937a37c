// What passes over a device's memory have in common. A pass is written in the way of a GPU: each
// block of threads, which share a little memory, does a part. cuda/cuda_kernels.cu runs passes on a
// GPU. They are plain C++, so a CPU runs the same steps, one thread after another (pass_runner.h).
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "nn/bf16.h"

#ifdef __CUDACC__
#include <cuda_fp8.h>
#define TANDEM_PASS_INLINE __host__ __device__ __forceinline__
#else
#define TANDEM_PASS_INLINE inline
#endif
#ifndef __CUDA_ARCH__
#include <c10/util/Float8_e4m3fn.h>
#endif

namespace tandem {

// Arrays are plain, because the members of std::array are functions of the host. Products of a
// block's numbers are far below the limit of int.

/// A block is kThreadRows x kThreadLanes threads. A thread's number is row * kThreadLanes + lane.
inline constexpr int kThreadLanes = 32;
inline constexpr int kThreadRows = 8;

/// A thread takes this many neighbouring columns at once if the addresses allow it, else one.
inline constexpr int kPassVector = 4;

/// The size of the memory that the threads of a block share.
inline constexpr int kPassSharedFloats = 3 * kThreadRows * kThreadLanes * kPassVector;

/// The rows of one block of a pass over columns.
inline constexpr std::int64_t kRowsOfColumnBlock = 128;

/// PassThread says which part of a pass a thread does.
struct PassThread {
  std::int64_t block_x, block_y;
  int row, lane;
};

/// PassGrid is a number of blocks.
struct PassGrid {
  std::int64_t x, y;
};

/// E4m3 is a number in e4m3: 8 bits, 4 of the exponent and 3 of the mantissa. It has no infinity.
enum class E4m3 : std::uint8_t {};

inline constexpr float kLargestOfE4m3 = 448;

/// Rounds to nearest, ties to even. NaN stays NaN. Too large numbers become the largest one.
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

namespace pass {

// V neighbouring numbers, which are read and written at once.
template <class T, int V>
struct alignas(V * sizeof(T)) Pack {
  T values[V];
};

#ifdef __CUDA_ARCH__
// nvcc reads and writes a Pack one number after another. A word of its size is one instruction.
template <int kBytes>
using WordOf = std::conditional_t<
    kBytes == 16, uint4,
    std::conditional_t<
        kBytes == 8, uint2,
        std::conditional_t<kBytes == 4, unsigned int,
                           std::conditional_t<kBytes == 2, unsigned short, unsigned char>>>>;

template <class P>
TANDEM_PASS_INLINE P LoadWord(const void* from) {
  const auto word = *static_cast<const WordOf<sizeof(P)>*>(from);
  P pack;
  memcpy(&pack, &word, sizeof(pack));
  return pack;
}
template <class P>
TANDEM_PASS_INLINE void StoreWord(const P& pack, void* to) {
  WordOf<sizeof(P)> word;
  memcpy(&word, &pack, sizeof(word));
  __stwb(static_cast<WordOf<sizeof(P)>*>(to), word);
}
#else
template <class P>
P LoadWord(const void* from) {
  return *static_cast<const P*>(from);
}
template <class P>
void StoreWord(const P& pack, void* to) {
  *static_cast<P*>(to) = pack;
}
#endif

template <class T, int V>
TANDEM_PASS_INLINE Pack<T, V> LoadPack(const T* from) {
  return LoadWord<Pack<T, V>>(from);
}

template <class T, int V>
TANDEM_PASS_INLINE void WidenAll(const Pack<T, V>& pack, float (&to)[V]) {
#ifdef __CUDA_ARCH__
  for (int i = 0; i + 1 < V; i += 2) WidenTwo(pack.values + i, to[i], to[i + 1]);
  if (V % 2 != 0) to[V - 1] = Widen(pack.values[V - 1]);
#else
  for (int i = 0; i < V; ++i) to[i] = Widen(pack.values[i]);
#endif
}

template <class T, int V>
TANDEM_PASS_INLINE void Load(const T* from, float (&to)[V]) {
  WidenAll(LoadPack<T, V>(from), to);
}

template <class T, int V>
TANDEM_PASS_INLINE void Store(const float (&from)[V], T* to) {
  Pack<T, V> pack;
#ifdef __CUDA_ARCH__
  for (int i = 0; i + 1 < V; i += 2) NarrowTwo(from[i], from[i + 1], pack.values + i);
  if (V % 2 != 0) Narrow(from[V - 1], pack.values[V - 1]);
#else
  for (int i = 0; i < V; ++i) Narrow(from[i], pack.values[i]);
#endif
  StoreWord(pack, to);
}

// Null counts as aligned.
template <class T>
bool IsAligned(const T* address) {
  return reinterpret_cast<std::uintptr_t>(address) % (kPassVector * sizeof(T)) == 0;
}

TANDEM_PASS_INLINE std::int64_t Ceil(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }
TANDEM_PASS_INLINE std::int64_t Least(std::int64_t a, std::int64_t b) { return a < b ? a : b; }

}  // namespace pass

// Sums over rows of a matrix are made in two passes, so that their order is always the same. In the
// first, a block of threads adds up kRowsOfColumnBlock rows of its columns. In the second, a block
// adds up the results. In both, each row of threads adds up a part and puts it into shared memory
// (Share), and in the next stage the first row of threads adds up these parts (SharedTotal).

template <int V>
TANDEM_PASS_INLINE void Share(PassThread thread, int sum, const float (&values)[V], float* shared) {
  for (int i = 0; i < V; ++i) {
    shared[((sum * kThreadRows + thread.row) * kThreadLanes + thread.lane) * V + i] = values[i];
  }
}

// The total of a sum for column `i` of the V columns of a lane.
template <int V>
TANDEM_PASS_INLINE float SharedTotal(int lane, int sum, int i, const float* shared) {
  float total = 0;
  for (int row = 0; row < kThreadRows; ++row) {
    total += shared[((sum * kThreadRows + row) * kThreadLanes + lane) * V + i];
  }
  return total;
}

// The end of the first pass: writes `kSums` sums for each of the thread's V columns to `partial`,
// which is (blocks of rows, kSums, width).
template <int V, int kSums>
TANDEM_PASS_INLINE void WriteTotals(PassThread thread, const float* shared, std::int64_t width,
                                    std::int64_t column, float* partial) {
  if (thread.row != 0 || column >= width) return;
  for (int sum = 0; sum < kSums; ++sum) {
    for (int i = 0; i < V; ++i) {
      partial[(thread.block_y * kSums + sum) * width + column + i] =
          SharedTotal<V>(thread.lane, sum, i, shared);
    }
  }
}

// The beginning of the second pass, in which each lane has one column.
template <int kSums>
TANDEM_PASS_INLINE void ShareTotals(PassThread thread, const float* partial, std::int64_t rows,
                                    std::int64_t width, float* shared) {
  const std::int64_t column = thread.block_x * kThreadLanes + thread.lane;
  float sums[kSums][1] = {};
  if (column < width) {
    const std::int64_t blocks = pass::Ceil(rows, kRowsOfColumnBlock);
    for (std::int64_t block = thread.row; block < blocks; block += kThreadRows) {
      for (int i = 0; i < kSums; ++i) sums[i][0] += partial[(kSums * block + i) * width + column];
    }
  }
  for (int i = 0; i < kSums; ++i) Share<1>(thread, i, sums[i], shared);
}

// Passes over columns, in which a thread has V columns of a matrix, from `column`, and every
// kThreadRows-th row of a block of rows, read what they need of a few rows before they use it: many
// reads are then under way at once, as a GPU's memory needs. read(row, at) returns what use(row,
// at, ...) takes; the thread's numbers in the row begin at index `at` of the matrix.
template <class Read, class Use>
TANDEM_PASS_INLINE void ForRowsOfBlock(PassThread thread, std::int64_t rows, std::int64_t width,
                                       std::int64_t column, const Read& read, const Use& use) {
  constexpr int kAtOnce = 4;
  const std::int64_t first = thread.block_y * kRowsOfColumnBlock;
  const std::int64_t begin = first * width + column;
  const auto count = static_cast<int>(pass::Least(kRowsOfColumnBlock, rows - first));
  const auto step = static_cast<int>(width);
  for (int row = thread.row; row < count; row += kAtOnce * kThreadRows) {
    decltype(read(first, begin)) of_rows[kAtOnce];
    for (int i = 0; i < kAtOnce; ++i) {
      const int place = row + i * kThreadRows;
      const int valid = place < count ? place : count - 1;
      of_rows[i] = read(first + valid, begin + valid * step);
    }
    for (int i = 0; i < kAtOnce; ++i) {
      const int place = row + i * kThreadRows;
      if (place < count) use(first + place, begin + place * step, of_rows[i]);
    }
  }
}

// The blocks of a pass over columns.
inline PassGrid ColumnGrid(std::int64_t rows, std::int64_t width, bool aligned) {
  return {pass::Ceil(width, kThreadLanes * (aligned ? kPassVector : 1)),
          pass::Ceil(rows, kRowsOfColumnBlock)};
}

// The blocks of the second pass.
inline PassGrid TotalsGrid(std::int64_t width) { return {pass::Ceil(width, kThreadLanes), 1}; }

}  // namespace tandem
