// The pass that makes a hidden layer's result from that of its product (device_pass.h).
#pragma once

#include <cmath>
#include <cstdint>

#include "nn/tensors/device_pass.h"
#include "nn/tensors/e4m3.h"
#include "nn/tensors/layer_rows.h"

namespace tandem {

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

}  // namespace tandem
