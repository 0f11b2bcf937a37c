// The passes of a hidden layer's forward pass (device_pass.h): the statistics of batch
// normalisation, and the layer's result. LayerRows is what they and the backward passes read.
#pragma once

#include <cmath>
#include <cstdint>

#include "config/choices.h"
#include "nn/gpu/device_pass.h"

namespace tandem {

namespace pass {

// Replaces each u by its activation. NaN stays NaN.
template <int V>
TANDEM_PASS_INLINE void Activate(Activation activation, float (&u)[V]) {
  switch (activation) {
    case Activation::kRelu:
      for (int i = 0; i < V; ++i) u[i] = u[i] < 0 ? 0 : u[i];
      break;
    case Activation::kLeakyRelu:
      for (int i = 0; i < V; ++i) u[i] = u[i] < 0 ? static_cast<float>(kLeakySlope) * u[i] : u[i];
      break;
  }
}

// Multiplies each gradient by the derivative at u. ReLU and leaky ReLU need only the sign of u,
// which their result has too.
template <int V>
TANDEM_PASS_INLINE void TimesSlope(Activation activation, const float (&u)[V],
                                   float (&gradient)[V]) {
  switch (activation) {
    case Activation::kRelu:
      for (int i = 0; i < V; ++i) gradient[i] = u[i] <= 0 ? 0 : gradient[i];
      break;
    case Activation::kLeakyRelu:
      for (int i = 0; i < V; ++i) gradient[i] *= u[i] <= 0 ? static_cast<float>(kLeakySlope) : 1;
      break;
  }
}

}  // namespace pass

/// LayerColumns is what a pass needs to know of V columns of a layer, in one row if statistics are
/// by row: zhat = z * inverse + offset, and the activation's input is zhat * scale + shift + skip.
template <int V>
struct LayerColumns {
  float inverse[V], offset[V], scale[V], shift[V];
};

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
  const T* z;                   ///< null without a normalisation
  const T* skip;                ///< null for none
  const float *scale, *shift;   ///< (width); null for none
  const float *mean, *inverse;  ///< null for none; RMSNorm has no mean
  float epsilon;

  TANDEM_PASS_INLINE bool by_row() const { return norm == Norm::kLayer || norm == Norm::kRms; }

  // Whether the slope of the activation is that of its input, computed again, or else of its
  // result.
  TANDEM_PASS_INLINE bool slope_needs_input() const {
    return !linear && z != nullptr && skip == nullptr;
  }
  TANDEM_PASS_INLINE bool slope_needs_result() const { return !linear && !slope_needs_input(); }

  bool aligned() const {
    return width % kPassVector == 0 && pass::IsAligned(z) && pass::IsAligned(skip) &&
           pass::IsAligned(scale) && pass::IsAligned(shift) &&
           (by_row() || (pass::IsAligned(mean) && pass::IsAligned(inverse)));
  }

  // V numbers of a matrix, from index `at`; zeros if it is null.
  template <int V>
  TANDEM_PASS_INLINE static pass::Pack<T, V> Read(const T* matrix, std::int64_t at) {
    if (matrix == nullptr) return {};
    return pass::LoadPack<T, V>(matrix + at);
  }

  template <int V>
  TANDEM_PASS_INLINE static void LoadOr(float missing, const float* from, float (&to)[V]) {
    for (int i = 0; i < V; ++i) to[i] = missing;
    if (from != nullptr) pass::Load<float, V>(from, to);
  }

  template <int V>
  TANDEM_PASS_INLINE void LoadScales(std::int64_t column, LayerColumns<V>& to) const {
    LoadOr<V>(1, scale == nullptr ? nullptr : scale + column, to.scale);
    LoadOr<V>(0, shift == nullptr ? nullptr : shift + column, to.shift);
  }

  // Reads the statistics too. Requires that they are not those of rows.
  template <int V>
  TANDEM_PASS_INLINE void LoadColumns(std::int64_t column, LayerColumns<V>& to) const {
    float means[V];
    LoadScales<V>(column, to);
    LoadOr<V>(0, mean == nullptr ? nullptr : mean + column, means);
    LoadOr<V>(1, inverse == nullptr ? nullptr : inverse + column, to.inverse);
    for (int i = 0; i < V; ++i) to.offset[i] = -means[i] * to.inverse[i];
  }

  // Reads the statistics of the row. Requires that they are those of rows.
  template <int V>
  TANDEM_PASS_INLINE void LoadColumnsOfRow(std::int64_t row, std::int64_t column,
                                           LayerColumns<V>& to) const {
    LoadColumns<V>(column, mean != nullptr ? mean[row] : 0, inverse[row], to);
  }

  template <int V>
  TANDEM_PASS_INLINE void LoadColumns(std::int64_t column, float row_mean, float row_inverse,
                                      LayerColumns<V>& to) const {
    LoadScales<V>(column, to);
    for (int i = 0; i < V; ++i) {
      to.inverse[i] = row_inverse;
      to.offset[i] = -row_mean * row_inverse;
    }
  }

  template <int V>
  TANDEM_PASS_INLINE static void Normalise(const pass::Pack<T, V>& z,
                                           const LayerColumns<V>& columns, float (&zhat)[V]) {
    pass::WidenAll(z, zhat);
    for (int i = 0; i < V; ++i) zhat[i] = zhat[i] * columns.inverse[i] + columns.offset[i];
  }

  // The input of the activation.
  template <int V>
  TANDEM_PASS_INLINE static void Finish(const float (&zhat)[V], const pass::Pack<T, V>& skip,
                                        const LayerColumns<V>& columns, float (&u)[V]) {
    pass::WidenAll(skip, u);
    for (int i = 0; i < V; ++i) u[i] += zhat[i] * columns.scale[i] + columns.shift[i];
  }
};

/// ForwardPass sets y, or the same numbers in e4m3, or both. With layer normalisation and RMSNorm
/// it first computes the statistics of each row.
template <class T>
struct ForwardPass {
  static constexpr int kStages = 3;

  LayerRows<T> layer;
  float *row_mean, *row_inverse;  ///< where statistics of rows go: layer.mean and layer.inverse
  T* y;                           ///< may be layer.z; null for none
  E4m3* quantised;                ///< null for none
  const float* quantised_scale;   ///< one number, which the numbers of `quantised` are divided by

  TANDEM_PASS_INLINE LayerRows<T>& rows_of_layer() { return layer; }
  PassGrid grid() const {
    if (layer.by_row()) return {pass::Ceil(layer.rows, kThreadRows), 1};
    return ColumnGrid(layer.rows, layer.width, aligned());
  }
  bool aligned() const {
    return layer.aligned() && pass::IsAligned(y) && pass::IsAligned(quantised);
  }

  template <int V>
  TANDEM_PASS_INLINE void Run(int stage, PassThread thread, float* shared) const {
    if (layer.by_row()) {
      RunByRow<V>(stage, thread, shared);
    } else if (stage == 0) {
      RunByColumn<V>(thread);
    }
  }

 private:
  template <int V>
  struct Read {
    pass::Pack<T, V> z, skip;
  };

  template <int V>
  TANDEM_PASS_INLINE Read<V> ReadAt(std::int64_t at) const {
    return {layer.template Read<V>(layer.z, at), layer.template Read<V>(layer.skip, at)};
  }

  template <int V>
  TANDEM_PASS_INLINE void RunByColumn(PassThread thread) const {
    const std::int64_t column = (thread.block_x * kThreadLanes + thread.lane) * V;
    if (column >= layer.width) return;
    LayerColumns<V> columns;
    layer.template LoadColumns<V>(column, columns);
    const float factor = Factor();
    ForRowsOfBlock(
        thread, layer.rows, layer.width, column,
        [&](std::int64_t /*row*/, std::int64_t at) { return ReadAt<V>(at); },
        [&](std::int64_t /*row*/, std::int64_t at, const Read<V>& read) {
          Write<V>(at, read, columns, factor);
        });
  }

  // A row of threads has a row.
  template <int V>
  TANDEM_PASS_INLINE void RunByRow(int stage, PassThread thread, float* shared) const {
    const std::int64_t row = thread.block_x * kThreadRows + thread.row;
    if (row >= layer.rows) return;
    float* sums = shared + thread.row * kThreadLanes;
    float* squares = sums + kThreadRows * kThreadLanes;
    if (stage == 0) {
      if (layer.norm == Norm::kLayer) sums[thread.lane] = Sum<V>(row, thread.lane);
      return;
    }
    const float mean =
        layer.norm == Norm::kLayer ? Total(sums) / static_cast<float>(layer.width) : 0;
    if (stage == 1) {
      squares[thread.lane] = Squares<V>(row, thread.lane, mean);
      return;
    }
    const float inverse =
        1 / sqrtf(Total(squares) / static_cast<float>(layer.width) + layer.epsilon);
    if (thread.lane == 0) {
      if (layer.norm == Norm::kLayer) row_mean[row] = mean;
      row_inverse[row] = inverse;
    }
    const float factor = Factor();
    for (std::int64_t c = thread.lane * V; c < layer.width; c += kThreadLanes * V) {
      LayerColumns<V> columns;
      layer.template LoadColumns<V>(c, mean, inverse, columns);
      const std::int64_t at = row * layer.width + c;
      Write<V>(at, ReadAt<V>(at), columns, factor);
    }
  }

  TANDEM_PASS_INLINE float Factor() const {
    return quantised != nullptr ? 1 / *quantised_scale : 1;
  }

  TANDEM_PASS_INLINE static float Total(const float* of_lanes) {
    float total = 0;
    for (int i = 0; i < kThreadLanes; ++i) total += of_lanes[i];
    return total;
  }

  template <int V>
  TANDEM_PASS_INLINE float Sum(std::int64_t row, int lane) const {
    float sum = 0;
    for (std::int64_t c = lane * V; c < layer.width; c += kThreadLanes * V) {
      float z[V];
      pass::Load<T, V>(layer.z + row * layer.width + c, z);
      for (int i = 0; i < V; ++i) sum += z[i];
    }
    return sum;
  }

  template <int V>
  TANDEM_PASS_INLINE float Squares(std::int64_t row, int lane, float mean) const {
    float sum = 0;
    for (std::int64_t c = lane * V; c < layer.width; c += kThreadLanes * V) {
      float z[V];
      pass::Load<T, V>(layer.z + row * layer.width + c, z);
      for (int i = 0; i < V; ++i) sum += (z[i] - mean) * (z[i] - mean);
    }
    return sum;
  }

  // Writes the V numbers at `at`. `factor` is one over the scale of the numbers in e4m3.
  template <int V>
  TANDEM_PASS_INLINE void Write(std::int64_t at, const Read<V>& read,
                                const LayerColumns<V>& columns, float factor) const {
    float zhat[V];
    float u[V];
    layer.template Normalise<V>(read.z, columns, zhat);
    layer.template Finish<V>(zhat, read.skip, columns, u);
    if (!layer.linear) pass::Activate<V>(layer.activation, u);
    if (y != nullptr) pass::Store<T, V>(u, y + at);
    if (quantised == nullptr) return;
    for (int i = 0; i < V; ++i) u[i] *= factor;
    pass::Store<E4m3, V>(u, quantised + at);
  }
};

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
