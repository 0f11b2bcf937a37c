// The passes before, behind and after the hidden layers (device_pass.h): the one-hot input, the
// output layer, whose weights, results and gradients are in fp32, and the step of Adam.
#pragma once

#include <cmath>
#include <cstdint>

#include "nn/gpu/device_pass.h"

namespace tandem {

/// OneHotPass sets the input of the first product: 1 for each position's value, else 0. The first
/// `padding` features are always 0. Values of `depth` or more set none.
template <class T>
struct OneHotPass {
  static constexpr int kStages = 1;

  std::int64_t rows, positions, depth, padding;
  const std::uint8_t* values;  ///< (rows, positions)
  T* features;                 ///< (rows, padding + positions * depth)

  TANDEM_PASS_INLINE std::int64_t width() const { return padding + positions * depth; }
  PassGrid grid() const { return ColumnGrid(rows, width(), aligned()); }
  bool aligned() const { return width() % kPassVector == 0 && pass::IsAligned(features); }

  template <int V>
  TANDEM_PASS_INLINE void Run(int /*stage*/, PassThread thread, float* /*shared*/) const {
    const std::int64_t column = (thread.block_x * kThreadLanes + thread.lane) * V;
    if (column >= width()) return;
    int position[V];
    int value[V];  // -1: of no position
    for (int i = 0; i < V; ++i) {
      const auto feature = static_cast<int>(column + i - padding);
      const bool is_padding = feature < 0;
      position[i] = is_padding ? 0 : feature / static_cast<int>(depth);
      value[i] = is_padding ? -1 : feature % static_cast<int>(depth);
    }
    ForRowsOfBlock(
        thread, rows, width(), column,
        [&](std::int64_t row, std::int64_t /*at*/) {
          pass::Pack<std::uint8_t, V> read;
          for (int i = 0; i < V; ++i) read.values[i] = values[row * positions + position[i]];
          return read;
        },
        [&](std::int64_t /*row*/, std::int64_t at, const pass::Pack<std::uint8_t, V>& read) {
          float x[V];
          for (int i = 0; i < V; ++i) x[i] = read.values[i] == value[i] ? 1 : 0;
          pass::Store<T, V>(x, features + at);
        });
  }
};

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

/// AdamPass takes a step of Adam or AdamW with parameters in one block of memory, and writes copies
/// of them in bf16. The number of the step and the learning rate are in the device's memory, so
/// that a captured pass can be repeated.
struct AdamPass {
  static constexpr int kStages = 1;
  static constexpr std::int64_t kPerThread = 32;
  static constexpr std::int64_t kThreads = kThreadRows * kThreadLanes;

  std::int64_t count;
  float* parameters;
  const float* gradients;
  float *mean, *mean_square;
  Bf16* copies;               ///< null for none
  const float *steps, *rate;  ///< one number each
  double beta1, beta2;
  float weight_decay, epsilon;

  PassGrid grid() const { return {pass::Ceil(count, kThreads * kPerThread), 1}; }
  static bool aligned() { return false; }

  template <int V>
  TANDEM_PASS_INLINE void Run(int /*stage*/, PassThread thread, float* /*shared*/) const {
    const auto correction1 = static_cast<float>(1 - pow(beta1, *steps));
    const auto correction2 = static_cast<float>(sqrt(1 - pow(beta2, *steps)));
    const float step_size = *rate / correction1;
    const auto keep1 = static_cast<float>(beta1);
    const auto keep2 = static_cast<float>(beta2);
    const auto take1 = static_cast<float>(1 - beta1);
    const auto take2 = static_cast<float>(1 - beta2);
    float* __restrict x_of = parameters;
    float* __restrict m_of = mean;
    float* __restrict v_of = mean_square;
    const float* __restrict g_of = gradients;
    const std::int64_t begin = thread.block_x * kThreads * kPerThread;
    const std::int64_t end = pass::Least(count, begin + kThreads * kPerThread);
    for (std::int64_t i = begin + thread.row * kThreadLanes + thread.lane; i < end; i += kThreads) {
      float x = x_of[i];
      const float g = g_of[i];
      x -= *rate * weight_decay * x;
      const float m = keep1 * m_of[i] + take1 * g;
      const float v = keep2 * v_of[i] + take2 * g * g;
      x -= step_size * m / (sqrtf(v) / correction2 + epsilon);
      m_of[i] = m;
      v_of[i] = v;
      x_of[i] = x;
      if (copies != nullptr) Narrow(x, copies[i]);
    }
  }
};

}  // namespace tandem
