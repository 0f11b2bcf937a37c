// The passes that make the gradients of a hidden layer (device_pass.h).
#pragma once

#include <cstdint>

#include "nn/device_pass.h"
#include "nn/layer_rows.h"

namespace tandem {

/// LayerGradients is what the backward passes of a layer read besides LayerRows.
template <class T>
struct LayerGradients {
  LayerRows<T> of;
  const T *y, *y_gradient;

  bool aligned() const { return of.aligned() && pass::IsAligned(y) && pass::IsAligned(y_gradient); }

  // What is read of V columns of a row.
  template <int V>
  struct Read {
    pass::Pack<T, V> z, skip, y, y_gradient;
  };

  template <int V>
  TANDEM_PASS_INLINE Read<V> ReadAt(std::int64_t at) const {
    const bool needs_skip = of.slope_needs_input();
    return {of.template Read<V>(of.z, at), of.template Read<V>(needs_skip ? of.skip : nullptr, at),
            of.template Read<V>(of.slope_needs_result() ? y : nullptr, at),
            of.template Read<V>(y_gradient, at)};
  }

  // Sets zhat, which is unspecified if there is no z, and the gradient of the activation's input.
  template <int V>
  TANDEM_PASS_INLINE void Compute(const Read<V>& read, const LayerColumns<V>& columns,
                                  float (&zhat)[V], float (&u_gradient)[V]) const {
    of.template Normalise<V>(read.z, columns, zhat);
    pass::WidenAll(read.y_gradient, u_gradient);
    if (of.linear) return;
    float u[V];
    if (of.slope_needs_input()) {
      of.template Finish<V>(zhat, read.skip, columns, u);
    } else {
      pass::WidenAll(read.y, u);
    }
    pass::TimesSlope<V>(of.activation, u, u_gradient);
  }
};

/// BackwardPass sets the gradient of z, and of `skip` if there is one. With batch normalisation it
/// needs the means over rows of the gradients that ColumnSums and FinishSums compute.
template <class T>
struct BackwardPass {
  static constexpr int kStages = 2;

  LayerGradients<T> layer;
  /// (width), with batch normalisation: the means of u's gradient and of its product with zhat
  const float *mean_gradient, *mean_product;
  T* z_gradient;
  T* skip_gradient;  ///< null for none

  TANDEM_PASS_INLINE LayerRows<T>& rows_of_layer() { return layer.of; }
  PassGrid grid() const {
    const LayerRows<T>& of = layer.of;
    if (of.by_row()) return {pass::Ceil(of.rows, kThreadRows), 1};
    return ColumnGrid(of.rows, of.width, aligned());
  }
  bool aligned() const {
    return layer.aligned() && pass::IsAligned(z_gradient) && pass::IsAligned(skip_gradient) &&
           pass::IsAligned(mean_gradient) && pass::IsAligned(mean_product);
  }

  template <int V>
  TANDEM_PASS_INLINE void Run(int stage, PassThread thread, float* shared) const {
    if (layer.of.by_row()) {
      RunByRow<V>(stage, thread, shared);
    } else if (stage == 0) {
      RunByColumn<V>(thread);
    }
  }

 private:
  template <int V>
  using Read = typename LayerGradients<T>::template Read<V>;

  template <int V>
  TANDEM_PASS_INLINE void RunByColumn(PassThread thread) const {
    const LayerRows<T>& of = layer.of;
    const std::int64_t column = (thread.block_x * kThreadLanes + thread.lane) * V;
    if (column >= of.width) return;
    LayerColumns<V> columns;
    of.template LoadColumns<V>(column, columns);
    float slopes[V];  // of z's gradient in u's; it is u's * slope - constant - zhat * of_zhat
    float constants[V] = {};
    float of_zhat[V] = {};
    for (int i = 0; i < V; ++i) slopes[i] = 1;
    if (of.norm == Norm::kBatch) {
      pass::Load<float, V>(mean_gradient + column, constants);
      pass::Load<float, V>(mean_product + column, of_zhat);
      for (int i = 0; i < V; ++i) {
        slopes[i] = columns.scale[i] * columns.inverse[i];
        constants[i] *= slopes[i];
        of_zhat[i] *= slopes[i];
      }
    }
    ForRowsOfBlock(
        thread, of.rows, of.width, column,
        [&](std::int64_t /*row*/, std::int64_t at) { return layer.template ReadAt<V>(at); },
        [&](std::int64_t /*row*/, std::int64_t at, const Read<V>& read) {
          float zhat[V];
          float g[V];
          layer.template Compute<V>(read, columns, zhat, g);
          if (skip_gradient != nullptr) pass::Store<T, V>(g, skip_gradient + at);
          for (int i = 0; i < V; ++i) {
            g[i] = (g[i] * slopes[i] - constants[i]) - zhat[i] * of_zhat[i];
          }
          pass::Store<T, V>(g, z_gradient + at);
        });
  }

  // A row of threads has a row.
  template <int V>
  TANDEM_PASS_INLINE void RunByRow(int stage, PassThread thread, float* shared) const {
    const LayerRows<T>& of = layer.of;
    const std::int64_t row = thread.block_x * kThreadRows + thread.row;
    if (row >= of.rows) return;
    float* sums = shared + thread.row * kThreadLanes;
    float* products = sums + kThreadRows * kThreadLanes;
    if (stage == 0) {
      AddRow<V>(row, thread.lane, sums[thread.lane], products[thread.lane]);
      return;
    }
    float mean = 0;
    float product = 0;
    for (int i = 0; i < kThreadLanes; ++i) {
      mean += sums[i];
      product += products[i];
    }
    if (of.norm == Norm::kRms) mean = 0;
    const auto width = static_cast<float>(of.width);
    WriteRow<V>(row, thread.lane, mean / width, product / width);
  }

  template <int V>
  TANDEM_PASS_INLINE void AddRow(std::int64_t row, int lane, float& sum, float& product) const {
    const LayerRows<T>& of = layer.of;
    sum = 0;
    product = 0;
    for (std::int64_t c = lane * V; c < of.width; c += kThreadLanes * V) {
      LayerColumns<V> columns;
      of.template LoadColumnsOfRow<V>(row, c, columns);
      float zhat[V];
      float g[V];
      layer.template Compute<V>(layer.template ReadAt<V>(row * of.width + c), columns, zhat, g);
      for (int i = 0; i < V; ++i) {
        sum += g[i] * columns.scale[i];
        product += g[i] * columns.scale[i] * zhat[i];
      }
    }
  }

  template <int V>
  TANDEM_PASS_INLINE void WriteRow(std::int64_t row, int lane, float mean, float product) const {
    const LayerRows<T>& of = layer.of;
    for (std::int64_t c = lane * V; c < of.width; c += kThreadLanes * V) {
      LayerColumns<V> columns;
      of.template LoadColumnsOfRow<V>(row, c, columns);
      float zhat[V];
      float g[V];
      layer.template Compute<V>(layer.template ReadAt<V>(row * of.width + c), columns, zhat, g);
      const std::int64_t at = row * of.width + c;
      if (skip_gradient != nullptr) pass::Store<T, V>(g, skip_gradient + at);
      for (int i = 0; i < V; ++i) {
        g[i] = (g[i] * columns.scale[i] - mean - zhat[i] * product) * columns.inverse[i];
      }
      pass::Store<T, V>(g, z_gradient + at);
    }
  }
};

/// ColumnSums adds up the gradient of u, its product with zhat, and the gradient of z over each
/// block of rows.
template <class T>
struct ColumnSums {
  static constexpr int kStages = 2;

  LayerGradients<T> layer;
  const T* z_gradient;  ///< null: not added up
  float* partial;       ///< (blocks of kRowsOfColumnBlock rows, 3, width)

  TANDEM_PASS_INLINE LayerRows<T>& rows_of_layer() { return layer.of; }
  PassGrid grid() const { return ColumnGrid(layer.of.rows, layer.of.width, aligned()); }
  bool aligned() const { return layer.aligned() && pass::IsAligned(z_gradient); }

  template <int V>
  TANDEM_PASS_INLINE void Run(int stage, PassThread thread, float* shared) const {
    const std::int64_t column = (thread.block_x * kThreadLanes + thread.lane) * V;
    if (stage == 1) return WriteTotals<V, 3>(thread, shared, layer.of.width, column, partial);
    float gradients[V] = {};
    float products[V] = {};
    float inputs[V] = {};
    if (column < layer.of.width) AddRows<V>(thread, column, gradients, products, inputs);
    Share<V>(thread, 0, gradients, shared);
    Share<V>(thread, 1, products, shared);
    Share<V>(thread, 2, inputs, shared);
  }

 private:
  template <int V>
  struct Read {
    typename LayerGradients<T>::template Read<V> layer;
    pass::Pack<T, V> z_gradient;
  };

  template <int V>
  TANDEM_PASS_INLINE void AddRows(PassThread thread, std::int64_t column, float (&gradients)[V],
                                  float (&products)[V], float (&inputs)[V]) const {
    const LayerRows<T>& of = layer.of;
    LayerColumns<V> columns = {};
    if (!of.by_row()) of.template LoadColumns<V>(column, columns);
    ForRowsOfBlock(
        thread, of.rows, of.width, column,
        [&](std::int64_t /*row*/, std::int64_t at) {
          return Read<V>{layer.template ReadAt<V>(at), of.template Read<V>(z_gradient, at)};
        },
        [&](std::int64_t row, std::int64_t /*at*/, const Read<V>& read) {
          if (of.by_row()) of.template LoadColumnsOfRow<V>(row, column, columns);
          float zhat[V];
          float g[V];
          layer.template Compute<V>(read.layer, columns, zhat, g);
          for (int i = 0; i < V; ++i) {
            gradients[i] += g[i];
            products[i] += g[i] * zhat[i];
          }
          if (z_gradient == nullptr) return;
          pass::WidenAll(read.z_gradient, g);
          for (int i = 0; i < V; ++i) inputs[i] += g[i];
        });
  }
};

/// FinishSums sets the gradients of a layer's shift, scale and bias from the sums of ColumnSums, or
/// adds to them.
struct FinishSums {
  static constexpr int kStages = 2;

  std::int64_t rows, width;
  const float* partial;
  bool add;
  float *shift, *scale, *bias;          ///< (width); null for none
  float *mean_gradient, *mean_product;  ///< (width), of batch normalisation; null for none

  PassGrid grid() const { return TotalsGrid(width); }
  static bool aligned() { return false; }

  template <int V>
  TANDEM_PASS_INLINE void Run(int stage, PassThread thread, float* shared) const {
    if (stage == 0) return ShareTotals<3>(thread, partial, rows, width, shared);
    const std::int64_t column = thread.block_x * kThreadLanes + thread.lane;
    if (thread.row != 0 || column >= width) return;
    float sums[3];
    for (int i = 0; i < 3; ++i) sums[i] = SharedTotal<1>(thread.lane, i, 0, shared);
    pass::SetOrAdd(sums[0], add, column, shift);
    pass::SetOrAdd(sums[1], add, column, scale);
    pass::SetOrAdd(sums[2], add, column, bias);
    if (mean_gradient == nullptr) return;
    mean_gradient[column] = sums[0] / static_cast<float>(rows);
    mean_product[column] = sums[1] / static_cast<float>(rows);
  }
};

}  // namespace tandem
