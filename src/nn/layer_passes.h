// The passes over the activations and the parameters of a training step on a device, in the way of
// a GPU: each block of threads, which share a little memory, does a part. nn/cuda_passes.cu runs
// this code on a GPU. It is plain C++, so a CPU runs the same steps, one thread after another
// (pass_runner.h).
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

#include "config/choices.h"
#include "nn/bf16.h"

#ifdef __CUDACC__
#define TANDEM_PASS_INLINE __host__ __device__ __forceinline__
#else
#define TANDEM_PASS_INLINE inline
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

/// The rows of a pass over columns that one block adds up.
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

namespace pass {

// V neighbouring numbers, which are read and written at once.
template <class T, int V>
struct alignas(V * sizeof(T)) Pack {
  T of[V];
};

template <class T, int V>
TANDEM_PASS_INLINE void Load(const T* from, float (&to)[V]) {
  const auto pack = *reinterpret_cast<const Pack<T, V>*>(from);
  for (int i = 0; i < V; ++i) to[i] = Widen(pack.of[i]);
}

template <class T, int V>
TANDEM_PASS_INLINE void Store(const float (&from)[V], T* to) {
  Pack<T, V> pack;
  for (int i = 0; i < V; ++i) Narrow(from[i], pack.of[i]);
  *reinterpret_cast<Pack<T, V>*>(to) = pack;
}

// Null counts as aligned.
template <class T>
bool IsAligned(const T* address) {
  return reinterpret_cast<std::uintptr_t>(address) % (kPassVector * sizeof(T)) == 0;
}

TANDEM_PASS_INLINE std::int64_t Ceil(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }
TANDEM_PASS_INLINE std::int64_t Least(std::int64_t a, std::int64_t b) { return a < b ? a : b; }

TANDEM_PASS_INLINE float Sigmoid(float x) { return 1 / (1 + expf(-x)); }

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
/// skip), where zhat is z normalised. With batch normalisation, `mean` and `inverse` (one over the
/// deviation) are those of columns (width), with layer normalisation and RMSNorm those of rows
/// (rows). All matrices are (rows, width).
template <class T>
struct LayerRows {
  std::int64_t rows, width;
  Norm norm;
  Activation activation;
  const T* z;                   ///< null without a normalisation if the slope needs y alone
  const T* skip;                ///< null for none
  const float *scale, *shift;   ///< (width); null for none
  const float *mean, *inverse;  ///< null for none; RMSNorm has no mean
  float epsilon;

  TANDEM_PASS_INLINE bool by_row() const { return norm == Norm::kLayer || norm == Norm::kRms; }

  bool aligned() const {
    return width % kPassVector == 0 && pass::IsAligned(z) && pass::IsAligned(skip) &&
           pass::IsAligned(scale) && pass::IsAligned(shift);
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
    for (int i = 0; i < V; ++i) {
      const std::int64_t at = by_row() ? row : column + i;
      to[i] = (to[i] - (mean != nullptr ? mean[at] : 0)) * inverse[at];
    }
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
    float result[V];
    float u[V] = {};
    pass::Load<T, V>(y + row * width + column, result);
    pass::Load<T, V>(y_gradient + row * width + column, to);
    if (activation == Activation::kSilu) {
      for (int i = 0; i < V; ++i) u[i] = zhat[i];
      Finish<V>(row, column, u);
    }
    for (int i = 0; i < V; ++i) to[i] *= pass::Slope(activation, u[i], result[i]);
  }
};

/// ForwardPass sets y. With layer normalisation and RMSNorm it first computes the statistics of
/// each row.
template <class T>
struct ForwardPass {
  static constexpr int kPhases = 3;

  LayerRows<T> of;
  float *row_mean, *row_inverse;  ///< where statistics of rows go: of.mean and of.inverse
  T* y;

  PassGrid grid() const { return {pass::Ceil(of.rows, kThreadRows), 1}; }
  bool aligned() const { return of.aligned() && pass::IsAligned(y); }

  template <int V>
  TANDEM_PASS_INLINE void Run(int phase, PassThread thread, float* shared) const {
    const std::int64_t row = thread.block_x * kThreadRows + thread.row;
    if (row >= of.rows) return;
    float* sums = shared + thread.row * kThreadLanes;
    float* squares = sums + kThreadRows * kThreadLanes;
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
      return Write<V>(row, thread.lane, mean, inverse);
    }
    Write<V>(row, thread.lane, 0, 0);
  }

 private:
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

  template <int V>
  TANDEM_PASS_INLINE void Write(std::int64_t row, int lane, float mean, float inverse) const {
    for (std::int64_t c = lane * V; c < of.width; c += kThreadLanes * V) {
      float u[V];
      if (of.by_row()) {
        pass::Load<T, V>(of.z + row * of.width + c, u);
        for (int i = 0; i < V; ++i) u[i] = (u[i] - mean) * inverse;
      } else {
        of.template Normalise<V>(row, c, u);
      }
      of.template Finish<V>(row, c, u);
      for (int i = 0; i < V; ++i) u[i] = pass::Activate(of.activation, u[i]);
      pass::Store<T, V>(u, y + row * of.width + c);
    }
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
           pass::IsAligned(z_gradient) && pass::IsAligned(skip_gradient);
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
        for (int i = 0; i < V; ++i) {
          g[i] = of.by_row() ? (g[i] * scale[i] - mean - zhat[i] * product) * of.inverse[row]
                             : (g[i] - mean_gradient[c + i] - zhat[i] * mean_product[c + i]) *
                                   (scale[i] * of.inverse[c + i]);
        }
      }
      pass::Store<T, V>(g, z_gradient + row * of.width + c);
    }
  }
};

// Writes `kSums` sums for each of the thread's V columns to `partial`. Each row of threads has put
// its part of a sum into shared memory (Share).
template <int V, int kSums>
TANDEM_PASS_INLINE void AddThreadRows(PassThread thread, const float* shared, std::int64_t width,
                                      std::int64_t column, float* partial) {
  if (thread.row != 0 || column >= width) return;
  for (int sum = 0; sum < kSums; ++sum) {
    for (int i = 0; i < V; ++i) {
      float total = 0;
      for (int row = 0; row < kThreadRows; ++row) {
        total += shared[((sum * kThreadRows + row) * kThreadLanes + thread.lane) * V + i];
      }
      partial[(thread.block_y * kSums + sum) * width + column + i] = total;
    }
  }
}

template <int V>
TANDEM_PASS_INLINE void Share(PassThread thread, int sum, const float (&values)[V], float* shared) {
  for (int i = 0; i < V; ++i) {
    shared[((sum * kThreadRows + thread.row) * kThreadLanes + thread.lane) * V + i] = values[i];
  }
}

// The blocks of a pass over columns.
inline PassGrid ColumnGrid(std::int64_t rows, std::int64_t width, bool aligned) {
  return {pass::Ceil(width, kThreadLanes * (aligned ? kPassVector : 1)),
          pass::Ceil(rows, kRowsOfColumnBlock)};
}

/// BatchMoments adds up z - z[0] of each column, and its squares, for each block of rows. The
/// first row is subtracted because the squares of numbers far from 0 would lose their digits.
template <class T>
struct BatchMoments {
  static constexpr int kPhases = 2;

  std::int64_t rows, width;
  const T* z;
  float* partial;  ///< (blocks of kRowsOfColumnBlock rows, 2, width)

  PassGrid grid() const { return ColumnGrid(rows, width, aligned()); }
  bool aligned() const { return width % kPassVector == 0 && pass::IsAligned(z); }

  template <int V>
  TANDEM_PASS_INLINE void Run(int phase, PassThread thread, float* shared) const {
    const std::int64_t column = (thread.block_x * kThreadLanes + thread.lane) * V;
    if (phase == 1) return AddThreadRows<V, 2>(thread, shared, width, column, partial);
    float sums[V] = {};
    float squares[V] = {};
    if (column < width) {
      float first[V];
      pass::Load<T, V>(z + column, first);
      const std::int64_t begin = thread.block_y * kRowsOfColumnBlock;
      const std::int64_t end = pass::Least(rows, begin + kRowsOfColumnBlock);
      for (std::int64_t r = begin + thread.row; r < end; r += kThreadRows) {
        float x[V];
        pass::Load<T, V>(z + r * width + column, x);
        for (int i = 0; i < V; ++i) {
          sums[i] += x[i] - first[i];
          squares[i] += (x[i] - first[i]) * (x[i] - first[i]);
        }
      }
    }
    Share<V>(thread, 0, sums, shared);
    Share<V>(thread, 1, squares, shared);
  }
};

/// FinishBatchMoments sets the mean of each column and one over its deviation from the sums of
/// BatchMoments, and lets the running statistics follow as LibTorch does.
template <class T>
struct FinishBatchMoments {
  static constexpr int kPhases = 1;

  std::int64_t rows, width;
  const T* z;
  const float* partial;
  const float* bias;  ///< (width), which z lacks
  float epsilon, momentum;
  float *mean, *inverse, *running_mean, *running_var;  ///< (width)

  PassGrid grid() const { return {pass::Ceil(width, kThreadRows * kThreadLanes), 1}; }
  static bool aligned() { return false; }

  template <int V>
  TANDEM_PASS_INLINE void Run(int /*phase*/, PassThread thread, float* /*shared*/) const {
    const std::int64_t column =
        (thread.block_x * kThreadRows + thread.row) * kThreadLanes + thread.lane;
    if (column >= width) return;
    float sum = 0;
    float squares = 0;
    for (std::int64_t block = 0; block < pass::Ceil(rows, kRowsOfColumnBlock); ++block) {
      sum += partial[2 * block * width + column];
      squares += partial[(2 * block + 1) * width + column];
    }
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
    if (phase == 1) return AddThreadRows<V, 3>(thread, shared, of.width, column, partial);
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
  static constexpr int kPhases = 1;

  std::int64_t rows, width;
  const float* partial;
  bool add;
  float *shift, *scale, *bias;          ///< (width); null for none
  float *mean_gradient, *mean_product;  ///< (width), of batch normalisation; null for none

  PassGrid grid() const { return {pass::Ceil(width, kThreadRows * kThreadLanes), 1}; }
  static bool aligned() { return false; }

  template <int V>
  TANDEM_PASS_INLINE void Run(int /*phase*/, PassThread thread, float* /*shared*/) const {
    const std::int64_t column =
        (thread.block_x * kThreadRows + thread.row) * kThreadLanes + thread.lane;
    if (column >= width) return;
    float sums[3] = {};
    for (std::int64_t block = 0; block < pass::Ceil(rows, kRowsOfColumnBlock); ++block) {
      for (int i = 0; i < 3; ++i) sums[i] += partial[(3 * block + i) * width + column];
    }
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

/// AdamPass takes a step of Adam or AdamW with parameters in one block of memory, and writes copies
/// of them in bf16. The number of the step and the learning rate are in the device's memory, so
/// that a captured pass can be repeated.
struct AdamPass {
  static constexpr int kPhases = 1;
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
  bool decoupled;  ///< AdamW

  PassGrid grid() const { return {pass::Ceil(count, kThreads * kPerThread), 1}; }
  static bool aligned() { return false; }

  template <int V>
  TANDEM_PASS_INLINE void Run(int /*phase*/, PassThread thread, float* /*shared*/) const {
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
      float g = g_of[i];
      if (decoupled) {
        x -= *rate * weight_decay * x;
      } else {
        g += weight_decay * x;
      }
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
