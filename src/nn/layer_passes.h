// The passes over the activations of a hidden layer, forward and backward (device_pass.h).
#pragma once

#include <atomic>
#include <cmath>
#include <cstdint>

#include "config/choices.h"
#include "nn/device_pass.h"

namespace tandem {

namespace pass {

TANDEM_PASS_INLINE float Sigmoid(float x) { return 1 / (1 + expf(-x)); }

// The larger one; NaN if either is NaN.
TANDEM_PASS_INLINE float Larger(float a, float b) { return b > a || b != b ? b : a; }

// Raises `largest` to `value`, which is 0 or more, while other threads do the same. The result does
// not depend on their order.
TANDEM_PASS_INLINE void RaiseTo(float value, float* largest) {
#ifdef __CUDA_ARCH__
  // The bits of such numbers are ordered as the numbers are, and those of NaN are above all.
  atomicMax(reinterpret_cast<int*>(largest), __float_as_int(value));
#else
  const std::atomic_ref<float> shared(*largest);
  float now = shared.load();
  while (now == now && !(value <= now) && !shared.compare_exchange_weak(now, value)) {
  }
#endif
}

// NaN stays NaN.
TANDEM_PASS_INLINE float Activate(Activation activation, float u) {
  switch (activation) {
    case Activation::kRelu:
      return u < 0 ? 0 : u;
    case Activation::kLeakyRelu:
      return u < 0 ? 0.01F * u : u;
    case Activation::kSilu:
      return u * Sigmoid(u);
  }
  return u;
}

// The derivative at u, whose result is y.
TANDEM_PASS_INLINE float Slope(Activation activation, float u, float y) {
  switch (activation) {
    case Activation::kRelu:
      return y <= 0 ? 0 : 1;
    case Activation::kLeakyRelu:
      return y <= 0 ? 0.01F : 1;
    case Activation::kSilu: {
      const float s = Sigmoid(u);
      return s * (1 + u * (1 - s));
    }
  }
  return 1;
}

}  // namespace pass

/// LayerRows is what the passes over a hidden layer read: y = activation(zhat * scale + shift +
/// skip), where zhat is z normalised. A linear layer, the input layer of DeepXube's networks, has
/// no activation. With batch normalisation, `mean` and `inverse` (one over the deviation) are those
/// of columns (width), with layer normalisation and RMSNorm those of rows (rows). All matrices are
/// (rows, width).
template <class T>
struct LayerRows {
  std::int64_t rows, width;
  Norm norm;
  Activation activation;
  bool linear;
  const T* z;                   ///< null without a normalisation if the slope does not need z
  const T* skip;                ///< null for none
  const float *scale, *shift;   ///< (width); null for none
  const float *mean, *inverse;  ///< null for none; RMSNorm has no mean
  float epsilon;

  TANDEM_PASS_INLINE bool by_row() const { return norm == Norm::kLayer || norm == Norm::kRms; }

  bool aligned() const {
    return width % kPassVector == 0 && pass::IsAligned(z) && pass::IsAligned(skip) &&
           pass::IsAligned(scale) && pass::IsAligned(shift) &&
           (by_row() || (pass::IsAligned(mean) && pass::IsAligned(inverse)));
  }

  // zhat of V columns; 0 without z.
  template <int V>
  TANDEM_PASS_INLINE void Normalise(std::int64_t row, std::int64_t column, float (&to)[V]) const {
    if (z == nullptr) {
      for (int i = 0; i < V; ++i) to[i] = 0;
      return;
    }
    pass::Load<T, V>(z + row * width + column, to);
    if (norm == Norm::kNone) return;
    if (by_row()) {
      const float middle = mean != nullptr ? mean[row] : 0;
      for (int i = 0; i < V; ++i) to[i] = (to[i] - middle) * inverse[row];
      return;
    }
    float means[V];
    float inverses[V];
    pass::Load<float, V>(mean + column, means);
    pass::Load<float, V>(inverse + column, inverses);
    for (int i = 0; i < V; ++i) to[i] = (to[i] - means[i]) * inverses[i];
  }

  // The input of the activation of V columns.
  template <int V>
  TANDEM_PASS_INLINE void Finish(std::int64_t row, std::int64_t column, float (&u)[V]) const {
    float other[V];
    if (scale != nullptr) {
      pass::Load<float, V>(scale + column, other);
      for (int i = 0; i < V; ++i) u[i] *= other[i];
    }
    if (shift != nullptr) {
      pass::Load<float, V>(shift + column, other);
      for (int i = 0; i < V; ++i) u[i] += other[i];
    }
    if (skip != nullptr) {
      pass::Load<T, V>(skip + row * width + column, other);
      for (int i = 0; i < V; ++i) u[i] += other[i];
    }
  }

  // The gradient of the activation's input.
  template <int V>
  TANDEM_PASS_INLINE void GradientOfInput(std::int64_t row, std::int64_t column, const T* y,
                                          const T* y_gradient, const float (&zhat)[V],
                                          float (&to)[V]) const {
    pass::Load<T, V>(y_gradient + row * width + column, to);
    if (linear) return;
    float result[V];
    float u[V] = {};
    pass::Load<T, V>(y + row * width + column, result);
    if (activation == Activation::kSilu) {
      for (int i = 0; i < V; ++i) u[i] = zhat[i];
      Finish<V>(row, column, u);
    }
    for (int i = 0; i < V; ++i) to[i] *= pass::Slope(activation, u[i], result[i]);
  }
};

/// ForwardPass sets y. With layer normalisation and RMSNorm it first computes the statistics of
/// each row. It also finds the largest magnitude of the activation's results, before they are
/// rounded, for a layer that reads them in fp8.
template <class T>
struct ForwardPass {
  static constexpr int kPhases = 5;

  LayerRows<T> of;
  float *row_mean, *row_inverse;  ///< where statistics of rows go: of.mean and of.inverse
  T* y;
  float* largest;  ///< one number, which must be 0 or more before; NaN if y has NaN; null for none

  PassGrid grid() const { return {pass::Ceil(of.rows, kThreadRows), 1}; }
  bool aligned() const { return of.aligned() && pass::IsAligned(y); }

  template <int V>
  TANDEM_PASS_INLINE void Run(int phase, PassThread thread, float* shared) const {
    constexpr int kThreads = kThreadRows * kThreadLanes;
    float* magnitudes = shared + 2 * kThreads;
    if (phase > 2) {
      if (largest != nullptr) RaiseLargest(phase, thread, magnitudes);
      return;
    }
    const std::int64_t row = thread.block_x * kThreadRows + thread.row;
    float& magnitude = magnitudes[thread.row * kThreadLanes + thread.lane];
    if (phase == 0) magnitude = 0;
    if (row >= of.rows) return;
    float* sums = shared + thread.row * kThreadLanes;
    float* squares = sums + kThreads;
    if (phase == 0 && of.norm == Norm::kLayer) sums[thread.lane] = Sum<V>(row, thread.lane);
    if (phase == 1 && of.by_row()) {
      squares[thread.lane] = Squares<V>(row, thread.lane, MeanOf(sums));
    }
    if (phase < 2) return;
    if (of.by_row()) {
      const float mean = MeanOf(sums);
      const float inverse = 1 / sqrtf(Total(squares) / static_cast<float>(of.width) + of.epsilon);
      if (thread.lane == 0) {
        if (of.norm == Norm::kLayer) row_mean[row] = mean;
        row_inverse[row] = inverse;
      }
      magnitude = Write<V>(row, thread.lane, mean, inverse);
    } else {
      magnitude = Write<V>(row, thread.lane, 0, 0);
    }
  }

 private:
  // From the largest magnitude of each thread.
  TANDEM_PASS_INLINE void RaiseLargest(int phase, PassThread thread, float* magnitudes) const {
    if (thread.row != 0) return;
    if (phase == 3) {
      float& of_lane = magnitudes[thread.lane];
      for (int row = 1; row < kThreadRows; ++row) {
        of_lane = pass::Larger(of_lane, magnitudes[row * kThreadLanes + thread.lane]);
      }
    } else if (thread.lane == 0) {
      float of_block = magnitudes[0];
      for (int lane = 1; lane < kThreadLanes; ++lane) {
        of_block = pass::Larger(of_block, magnitudes[lane]);
      }
      pass::RaiseTo(of_block, largest);
    }
  }

  TANDEM_PASS_INLINE static float Total(const float* of_lanes) {
    float total = 0;
    for (int i = 0; i < kThreadLanes; ++i) total += of_lanes[i];
    return total;
  }
  TANDEM_PASS_INLINE float MeanOf(const float* sums) const {
    return of.norm == Norm::kLayer ? Total(sums) / static_cast<float>(of.width) : 0;
  }

  template <int V>
  TANDEM_PASS_INLINE float Sum(std::int64_t row, int lane) const {
    float sum = 0;
    for (std::int64_t c = lane * V; c < of.width; c += kThreadLanes * V) {
      float z[V];
      pass::Load<T, V>(of.z + row * of.width + c, z);
      for (int i = 0; i < V; ++i) sum += z[i];
    }
    return sum;
  }

  template <int V>
  TANDEM_PASS_INLINE float Squares(std::int64_t row, int lane, float mean) const {
    float sum = 0;
    for (std::int64_t c = lane * V; c < of.width; c += kThreadLanes * V) {
      float z[V];
      pass::Load<T, V>(of.z + row * of.width + c, z);
      for (int i = 0; i < V; ++i) sum += (z[i] - mean) * (z[i] - mean);
    }
    return sum;
  }

  // Returns the largest magnitude that it writes, as it was before it was rounded.
  template <int V>
  TANDEM_PASS_INLINE float Write(std::int64_t row, int lane, float mean, float inverse) const {
    float magnitude = 0;
    for (std::int64_t c = lane * V; c < of.width; c += kThreadLanes * V) {
      float u[V];
      if (of.by_row()) {
        pass::Load<T, V>(of.z + row * of.width + c, u);
        for (int i = 0; i < V; ++i) u[i] = (u[i] - mean) * inverse;
      } else {
        of.template Normalise<V>(row, c, u);
      }
      of.template Finish<V>(row, c, u);
      for (int i = 0; i < V; ++i) {
        if (!of.linear) u[i] = pass::Activate(of.activation, u[i]);
        magnitude = pass::Larger(magnitude, fabsf(u[i]));
      }
      pass::Store<T, V>(u, y + row * of.width + c);
    }
    return magnitude;
  }
};

/// BackwardPass sets the gradient of z, and of `skip` if there is one. With batch normalisation it
/// needs the means over rows of the gradients that ColumnSums and FinishSums compute.
template <class T>
struct BackwardPass {
  static constexpr int kPhases = 2;

  LayerRows<T> of;
  const T *y, *y_gradient;
  /// (width), with batch normalisation: the means of u's gradient and of its product with zhat
  const float *mean_gradient, *mean_product;
  T* z_gradient;
  T* skip_gradient;  ///< null for none

  PassGrid grid() const { return {pass::Ceil(of.rows, kThreadRows), 1}; }
  bool aligned() const {
    return of.aligned() && pass::IsAligned(y) && pass::IsAligned(y_gradient) &&
           pass::IsAligned(z_gradient) && pass::IsAligned(skip_gradient) &&
           pass::IsAligned(mean_gradient) && pass::IsAligned(mean_product);
  }

  template <int V>
  TANDEM_PASS_INLINE void Run(int phase, PassThread thread, float* shared) const {
    const std::int64_t row = thread.block_x * kThreadRows + thread.row;
    if (row >= of.rows) return;
    float* sums = shared + thread.row * kThreadLanes;
    float* products = sums + kThreadRows * kThreadLanes;
    if (phase == 0) {
      if (of.by_row()) AddRow<V>(row, thread.lane, sums[thread.lane], products[thread.lane]);
      return;
    }
    float mean = 0;
    float product = 0;
    for (int i = 0; of.by_row() && i < kThreadLanes; ++i) {
      mean += sums[i];
      product += products[i];
    }
    if (of.norm == Norm::kRms) mean = 0;
    const auto width = static_cast<float>(of.width);
    Write<V>(row, thread.lane, mean / width, product / width);
  }

 private:
  template <int V>
  TANDEM_PASS_INLINE void AddRow(std::int64_t row, int lane, float& sum, float& product) const {
    sum = 0;
    product = 0;
    for (std::int64_t c = lane * V; c < of.width; c += kThreadLanes * V) {
      float zhat[V];
      float g[V];
      float scale[V];
      of.template Normalise<V>(row, c, zhat);
      of.template GradientOfInput<V>(row, c, y, y_gradient, zhat, g);
      pass::Load<float, V>(of.scale + c, scale);
      for (int i = 0; i < V; ++i) {
        sum += g[i] * scale[i];
        product += g[i] * scale[i] * zhat[i];
      }
    }
  }

  template <int V>
  TANDEM_PASS_INLINE void Write(std::int64_t row, int lane, float mean, float product) const {
    for (std::int64_t c = lane * V; c < of.width; c += kThreadLanes * V) {
      float zhat[V];
      float g[V];
      of.template Normalise<V>(row, c, zhat);
      of.template GradientOfInput<V>(row, c, y, y_gradient, zhat, g);
      if (skip_gradient != nullptr) pass::Store<T, V>(g, skip_gradient + row * of.width + c);
      if (of.norm != Norm::kNone) {
        float scale[V];
        pass::Load<float, V>(of.scale + c, scale);
        if (of.by_row()) {
          for (int i = 0; i < V; ++i) {
            g[i] = (g[i] * scale[i] - mean - zhat[i] * product) * of.inverse[row];
          }
        } else {
          ThroughBatchNorm<V>(c, zhat, scale, g);
        }
      }
      pass::Store<T, V>(g, z_gradient + row * of.width + c);
    }
  }

  // Turns u's gradient into that of z.
  template <int V>
  TANDEM_PASS_INLINE void ThroughBatchNorm(std::int64_t column, const float (&zhat)[V],
                                           const float (&scale)[V], float (&g)[V]) const {
    float inverse[V];
    float means[V];
    float products[V];
    pass::Load<float, V>(of.inverse + column, inverse);
    pass::Load<float, V>(mean_gradient + column, means);
    pass::Load<float, V>(mean_product + column, products);
    for (int i = 0; i < V; ++i) {
      g[i] = (g[i] - means[i] - zhat[i] * products[i]) * (scale[i] * inverse[i]);
    }
  }
};

/// ColumnSums adds up the gradient of u, its product with zhat, and the gradient of z over each
/// block of rows.
template <class T>
struct ColumnSums {
  static constexpr int kPhases = 2;

  LayerRows<T> of;
  const T *y, *y_gradient;
  const T* z_gradient;  ///< null: not added up
  float* partial;       ///< (blocks of kRowsOfColumnBlock rows, 3, width)

  PassGrid grid() const { return ColumnGrid(of.rows, of.width, aligned()); }
  bool aligned() const {
    return of.aligned() && pass::IsAligned(y) && pass::IsAligned(y_gradient) &&
           pass::IsAligned(z_gradient);
  }

  template <int V>
  TANDEM_PASS_INLINE void Run(int phase, PassThread thread, float* shared) const {
    const std::int64_t column = (thread.block_x * kThreadLanes + thread.lane) * V;
    if (phase == 1) return WriteTotals<V, 3>(thread, shared, of.width, column, partial);
    float gradients[V] = {};
    float products[V] = {};
    float inputs[V] = {};
    if (column < of.width) {
      const std::int64_t begin = thread.block_y * kRowsOfColumnBlock;
      const std::int64_t end = pass::Least(of.rows, begin + kRowsOfColumnBlock);
      for (std::int64_t r = begin + thread.row; r < end; r += kThreadRows) {
        float zhat[V];
        float g[V];
        of.template Normalise<V>(r, column, zhat);
        of.template GradientOfInput<V>(r, column, y, y_gradient, zhat, g);
        for (int i = 0; i < V; ++i) {
          gradients[i] += g[i];
          products[i] += g[i] * zhat[i];
        }
        if (z_gradient == nullptr) continue;
        pass::Load<T, V>(z_gradient + r * of.width + column, g);
        for (int i = 0; i < V; ++i) inputs[i] += g[i];
      }
    }
    Share<V>(thread, 0, gradients, shared);
    Share<V>(thread, 1, products, shared);
    Share<V>(thread, 2, inputs, shared);
  }
};

/// FinishSums sets the gradients of a layer's shift, scale and bias from the sums of ColumnSums, or
/// adds to them.
struct FinishSums {
  static constexpr int kPhases = 2;

  std::int64_t rows, width;
  const float* partial;
  bool add;
  float *shift, *scale, *bias;          ///< (width); null for none
  float *mean_gradient, *mean_product;  ///< (width), of batch normalisation; null for none

  PassGrid grid() const { return TotalsGrid(width); }
  static bool aligned() { return false; }

  template <int V>
  TANDEM_PASS_INLINE void Run(int phase, PassThread thread, float* shared) const {
    if (phase == 0) return ShareTotals<3>(thread, partial, rows, width, shared);
    const std::int64_t column = thread.block_x * kThreadLanes + thread.lane;
    if (thread.row != 0 || column >= width) return;
    float sums[3];
    for (int i = 0; i < 3; ++i) sums[i] = SharedTotal<1>(thread.lane, i, 0, shared);
    Set(shift, column, sums[0]);
    Set(scale, column, sums[1]);
    Set(bias, column, sums[2]);
    if (mean_gradient == nullptr) return;
    mean_gradient[column] = sums[0] / static_cast<float>(rows);
    mean_product[column] = sums[1] / static_cast<float>(rows);
  }

 private:
  TANDEM_PASS_INLINE void Set(float* gradients, std::int64_t column, float value) const {
    if (gradients != nullptr) gradients[column] = add ? gradients[column] + value : value;
  }
};

}  // namespace tandem
