// The passes that compute the statistics of batch normalisation in training (device_pass.h).
#pragma once

#include <cmath>
#include <cstdint>

#include "nn/tensors/device_pass.h"

namespace tandem {

/// BatchMoments adds up z - z[0] of each column, and its squares, for each block of rows. The
/// first row is subtracted because the squares of numbers far from 0 would lose their digits.
template <class T>
struct BatchMoments {
  static constexpr int kStages = 2;

  std::int64_t rows, width;
  const T* z;
  float* partial;  ///< (blocks of kRowsOfColumnBlock rows, 2, width)

  PassGrid grid() const { return ColumnGrid(rows, width, aligned()); }
  bool aligned() const { return width % kPassVector == 0 && pass::IsAligned(z); }

  template <int V>
  TANDEM_PASS_INLINE void Run(int stage, PassThread thread, float* shared) const {
    const std::int64_t column = (thread.block_x * kThreadLanes + thread.lane) * V;
    if (stage == 1) return WriteTotals<V, 2>(thread, shared, width, column, partial);
    float sums[V] = {};
    float squares[V] = {};
    if (column < width) {
      float first[V];
      pass::Load<T, V>(z + column, first);
      ForRowsOfBlock(
          thread, rows, width, column,
          [&](std::int64_t /*row*/, std::int64_t at) { return pass::LoadPack<T, V>(z + at); },
          [&](std::int64_t /*row*/, std::int64_t /*at*/, const pass::Pack<T, V>& x) {
            float numbers[V];
            pass::WidenAll(x, numbers);
            for (int i = 0; i < V; ++i) {
              const float difference = numbers[i] - first[i];
              sums[i] += difference;
              squares[i] += difference * difference;
            }
          });
    }
    Share<V>(thread, 0, sums, shared);
    Share<V>(thread, 1, squares, shared);
  }
};

/// FinishBatchMoments sets the mean of each column and one over its deviation from the sums of
/// BatchMoments, and lets the running statistics follow as LibTorch does.
template <class T>
struct FinishBatchMoments {
  static constexpr int kStages = 2;

  std::int64_t rows, width;
  const T* z;
  const float* partial;
  const float* bias;  ///< (width), which z lacks
  float epsilon, momentum;
  float *mean, *inverse, *running_mean, *running_var;  ///< (width)

  PassGrid grid() const { return TotalsGrid(width); }
  static bool aligned() { return false; }

  template <int V>
  TANDEM_PASS_INLINE void Run(int stage, PassThread thread, float* shared) const {
    if (stage == 0) return ShareTotals<2>(thread, partial, rows, width, shared);
    const std::int64_t column = thread.block_x * kThreadLanes + thread.lane;
    if (thread.row != 0 || column >= width) return;
    const float sum = SharedTotal<1>(thread.lane, 0, 0, shared);
    const float squares = SharedTotal<1>(thread.lane, 1, 0, shared);
    const auto count = static_cast<float>(rows);
    const float offset = sum / count;
    const float rest = squares - sum * offset;
    const float variance = rest > 0 || rest != rest ? rest / count : 0;
    mean[column] = Widen(z[column]) + offset;
    inverse[column] = 1 / sqrtf(variance + epsilon);
    const float unbiased = rows > 1 ? variance * count / (count - 1) : variance;
    Follow(running_mean[column], mean[column] + bias[column]);
    Follow(running_var[column], unbiased);
  }

 private:
  TANDEM_PASS_INLINE void Follow(float& running, float value) const {
    running += momentum * (value - running);
  }
};

}  // namespace tandem
