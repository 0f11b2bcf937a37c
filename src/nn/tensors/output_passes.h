// The passes of the output layer, whose weights, results and gradients are in fp32 (device_pass.h).
#pragma once

#include <cstdint>

#include "nn/tensors/device_pass.h"

namespace tandem {

/// OutputPass multiplies the last hidden layer's results by the output layer's weights.
template <class T>
struct OutputPass {
  static constexpr int kStages = 2;

  std::int64_t rows, width, outputs;
  const T* x;           ///< (rows, width)
  const float* weight;  ///< (outputs, width)
  const float* bias;    ///< (outputs)
  float* y;             ///< (rows, outputs)

  PassGrid grid() const { return {pass::Ceil(rows, kThreadRows), outputs}; }
  bool aligned() const {
    return width % kPassVector == 0 && pass::IsAligned(x) && pass::IsAligned(weight);
  }

  // A row of threads has a row and an output.
  template <int V>
  TANDEM_PASS_INLINE void Run(int stage, PassThread thread, float* shared) const {
    const std::int64_t row = thread.block_x * kThreadRows + thread.row;
    const std::int64_t output = thread.block_y;
    if (row >= rows) return;
    float* sums = shared + thread.row * kThreadLanes;
    if (stage == 0) {
      sums[thread.lane] = Sum<V>(x + row * width, weight + output * width, thread.lane);
    } else if (thread.lane == 0) {
      float sum = bias[output];
      for (int i = 0; i < kThreadLanes; ++i) sum += sums[i];
      y[row * outputs + output] = sum;
    }
  }

 private:
  template <int V>
  TANDEM_PASS_INLINE float Sum(const T* x_of_row, const float* weight_of_output, int lane) const {
    float sum = 0;
    for (std::int64_t c = lane * V; c < width; c += kThreadLanes * V) {
      float numbers[V];
      float weights[V];
      pass::Load<T, V>(x_of_row + c, numbers);
      pass::Load<float, V>(weight_of_output + c, weights);
      for (int i = 0; i < V; ++i) sum += numbers[i] * weights[i];
    }
    return sum;
  }
};

/// OutputInputGradient sets the gradient of the last hidden layer's results.
template <class T>
struct OutputInputGradient {
  static constexpr int kStages = 1;

  std::int64_t rows, width, outputs;
  const float* y_gradient;  ///< (rows, outputs)
  const float* weight;      ///< (outputs, width)
  T* x_gradient;            ///< (rows, width)

  PassGrid grid() const { return ColumnGrid(rows, width, aligned()); }
  bool aligned() const {
    return width % kPassVector == 0 && pass::IsAligned(weight) && pass::IsAligned(x_gradient);
  }

  template <int V>
  TANDEM_PASS_INLINE void Run(int /*stage*/, PassThread thread, float* /*shared*/) const {
    const std::int64_t column = (thread.block_x * kThreadLanes + thread.lane) * V;
    if (column >= width) return;
    const std::int64_t begin = thread.block_y * kRowsOfColumnBlock + thread.row;
    const std::int64_t end = pass::Least(rows, (thread.block_y + 1) * kRowsOfColumnBlock);
    for (std::int64_t row = begin; row < end; row += kThreadRows) {
      float sums[V] = {};
      for (std::int64_t output = 0; output < outputs; ++output) {
        const float gradient = y_gradient[row * outputs + output];
        float weights[V];
        pass::Load<float, V>(weight + output * width + column, weights);
        for (int i = 0; i < V; ++i) sums[i] += gradient * weights[i];
      }
      pass::Store<T, V>(sums, x_gradient + row * width + column);
    }
  }
};

/// OutputWeightSums adds up the gradients of the output layer's weights over each block of rows.
template <class T>
struct OutputWeightSums {
  static constexpr int kStages = 2;

  std::int64_t rows, width, outputs;
  const T* x;               ///< (rows, width)
  const float* y_gradient;  ///< (rows, outputs)
  float* partial;           ///< (blocks of kRowsOfColumnBlock rows, outputs, width)

  PassGrid grid() const {
    const PassGrid of_output = ColumnGrid(rows, width, aligned());
    return {of_output.x * outputs, of_output.y};
  }
  bool aligned() const { return width % kPassVector == 0 && pass::IsAligned(x); }

  template <int V>
  TANDEM_PASS_INLINE void Run(int stage, PassThread thread, float* shared) const {
    const std::int64_t output = thread.block_x % outputs;
    const std::int64_t column = (thread.block_x / outputs * kThreadLanes + thread.lane) * V;
    if (stage == 1) {
      const std::int64_t first_sum = thread.block_y * (outputs - 1) + output;
      return WriteTotals<V, 1>(thread, shared, width, column, partial + first_sum * width);
    }
    float sums[V] = {};
    if (column < width) {
      ForRowsOfBlock(
          thread, rows, width, column,
          [&](std::int64_t /*row*/, std::int64_t at) { return pass::LoadPack<T, V>(x + at); },
          [&](std::int64_t row, std::int64_t /*at*/, const pass::Pack<T, V>& read) {
            const float gradient = y_gradient[row * outputs + output];
            float numbers[V];
            pass::WidenAll(read, numbers);
            for (int i = 0; i < V; ++i) sums[i] += gradient * numbers[i];
          });
    }
    Share<V>(thread, 0, sums, shared);
  }
};

/// FinishOutputWeights sets the gradients of the output layer's weights from the sums of
/// OutputWeightSums, or adds to them.
struct FinishOutputWeights {
  static constexpr int kStages = 2;

  std::int64_t rows, weights;  ///< outputs * width
  const float* partial;
  bool add;
  float* gradients;  ///< (weights)

  PassGrid grid() const { return TotalsGrid(weights); }
  static bool aligned() { return false; }

  template <int V>
  TANDEM_PASS_INLINE void Run(int stage, PassThread thread, float* shared) const {
    if (stage == 0) return ShareTotals<1>(thread, partial, rows, weights, shared);
    const std::int64_t i = thread.block_x * kThreadLanes + thread.lane;
    if (thread.row != 0 || i >= weights) return;
    pass::SetOrAdd(SharedTotal<1>(thread.lane, 0, 0, shared), add, i, gradients);
  }
};

}  // namespace tandem
