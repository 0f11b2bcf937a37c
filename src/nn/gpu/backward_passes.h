// The passes that make the gradients of a hidden layer (device_pass.h).
#pragma once

#include <cstdint>

#include "nn/gpu/device_pass.h"
#include "nn/gpu/layer_passes.h"

namespace tandem {

/// LayerGradients is what the backward passes of a layer read in addition to LayerRows.
template <class T>
struct LayerGradients {
  LayerRows<T> layer;
  const T *y, *y_gradient;

  bool aligned() const {
    return layer.aligned() && pass::IsAligned(y) && pass::IsAligned(y_gradient);
  }

  // What is read of V columns of a row.
  template <int V>
  struct Read {
    pass::Pack<T, V> z, skip, y, y_gradient;
  };

  template <int V>
  TANDEM_PASS_INLINE Read<V> ReadAt(std::int64_t at) const {
    const bool needs_skip = layer.slope_needs_input();
    return {layer.template Read<V>(layer.z, at),
            layer.template Read<V>(needs_skip ? layer.skip : nullptr, at),
            layer.template Read<V>(layer.slope_needs_result() ? y : nullptr, at),
            layer.template Read<V>(y_gradient, at)};
  }

  // Sets zhat, which is unspecified if there is no z, and the gradient of the activation's input.
  template <int V>
  TANDEM_PASS_INLINE void Compute(const Read<V>& read, const LayerColumns<V>& columns,
                                  float (&zhat)[V], float (&u_gradient)[V]) const {
    layer.template Normalise<V>(read.z, columns, zhat);
    pass::WidenAll(read.y_gradient, u_gradient);
    if (layer.linear) return;
    float u[V];
    if (layer.slope_needs_input()) {
      layer.template Finish<V>(zhat, read.skip, columns, u);
    } else {
      pass::WidenAll(read.y, u);
    }
    pass::TimesSlope<V>(layer.activation, u, u_gradient);
  }
};

/// BackwardPass sets the gradient of z, and of `skip` if there is one. With batch normalisation it
/// needs the means over rows of the gradients that ColumnSums and FinishSums compute.
template <class T>
struct BackwardPass {
  static constexpr int kStages = 2;

  LayerGradients<T> gradients;
  /// (width), with batch normalisation: the means of u's gradient and of its product with zhat
  const float *mean_gradient, *mean_product;
  T* z_gradient;
  T* skip_gradient;  ///< null for none

  TANDEM_PASS_INLINE LayerRows<T>& rows_of_layer() { return gradients.layer; }
  PassGrid grid() const {
    const LayerRows<T>& layer = gradients.layer;
    if (layer.by_row()) return {pass::Ceil(layer.rows, kThreadRows), 1};
    return ColumnGrid(layer.rows, layer.width, aligned());
  }
  bool aligned() const {
    return gradients.aligned() && pass::IsAligned(z_gradient) && pass::IsAligned(skip_gradient) &&
           pass::IsAligned(mean_gradient) && pass::IsAligned(mean_product);
  }

  template <int V>
  TANDEM_PASS_INLINE void Run(int stage, PassThread thread, float* shared) const {
    if (gradients.layer.by_row()) {
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
    const LayerRows<T>& layer = gradients.layer;
    const std::int64_t column = (thread.block_x * kThreadLanes + thread.lane) * V;
    if (column >= layer.width) return;
    LayerColumns<V> columns;
    layer.template LoadColumns<V>(column, columns);
    float slopes[V];  // of z's gradient in u's; it is u's * slope - constant - zhat * of_zhat
    float constants[V] = {};
    float of_zhat[V] = {};
    for (int i = 0; i < V; ++i) slopes[i] = 1;
    if (layer.norm == Norm::kBatch) {
      pass::Load<float, V>(mean_gradient + column, constants);
      pass::Load<float, V>(mean_product + column, of_zhat);
      for (int i = 0; i < V; ++i) {
        slopes[i] = columns.scale[i] * columns.inverse[i];
        constants[i] *= slopes[i];
        of_zhat[i] *= slopes[i];
      }
    }
    ForRowsOfBlock(
        thread, layer.rows, layer.width, column,
        [&](std::int64_t /*row*/, std::int64_t at) { return gradients.template ReadAt<V>(at); },
        [&](std::int64_t /*row*/, std::int64_t at, const Read<V>& read) {
          float zhat[V];
          float g[V];
          gradients.template Compute<V>(read, columns, zhat, g);
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
    const LayerRows<T>& layer = gradients.layer;
    const std::int64_t row = thread.block_x * kThreadRows + thread.row;
    if (row >= layer.rows) return;
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
    if (layer.norm == Norm::kRms) mean = 0;
    const auto width = static_cast<float>(layer.width);
    WriteRow<V>(row, thread.lane, mean / width, product / width);
  }

  template <int V>
  TANDEM_PASS_INLINE void AddRow(std::int64_t row, int lane, float& sum, float& product) const {
    const LayerRows<T>& layer = gradients.layer;
    sum = 0;
    product = 0;
    for (std::int64_t c = lane * V; c < layer.width; c += kThreadLanes * V) {
      LayerColumns<V> columns;
      layer.template LoadColumnsOfRow<V>(row, c, columns);
      float zhat[V];
      float g[V];
      gradients.template Compute<V>(gradients.template ReadAt<V>(row * layer.width + c), columns,
                                    zhat, g);
      for (int i = 0; i < V; ++i) {
        sum += g[i] * columns.scale[i];
        product += g[i] * columns.scale[i] * zhat[i];
      }
    }
  }

  template <int V>
  TANDEM_PASS_INLINE void WriteRow(std::int64_t row, int lane, float mean, float product) const {
    const LayerRows<T>& layer = gradients.layer;
    for (std::int64_t c = lane * V; c < layer.width; c += kThreadLanes * V) {
      LayerColumns<V> columns;
      layer.template LoadColumnsOfRow<V>(row, c, columns);
      float zhat[V];
      float g[V];
      gradients.template Compute<V>(gradients.template ReadAt<V>(row * layer.width + c), columns,
                                    zhat, g);
      const std::int64_t at = row * layer.width + c;
      if (skip_gradient != nullptr) pass::Store<T, V>(g, skip_gradient + at);
      for (int i = 0; i < V; ++i) {
        g[i] = (g[i] * columns.scale[i] - mean - zhat[i] * product) * columns.inverse[i];
      }
      pass::Store<T, V>(g, z_gradient + at);
    }
  }
};

/// ColumnSums adds up u's gradient, its product with zhat, and z's gradient over blocks of rows.
template <class T>
struct ColumnSums {
  static constexpr int kStages = 2;

  LayerGradients<T> gradients;
  const T* z_gradient;  ///< null: not added up
  float* partial;       ///< (blocks of kRowsOfColumnBlock rows, 3, width)

  TANDEM_PASS_INLINE LayerRows<T>& rows_of_layer() { return gradients.layer; }
  PassGrid grid() const {
    return ColumnGrid(gradients.layer.rows, gradients.layer.width, aligned());
  }
  bool aligned() const { return gradients.aligned() && pass::IsAligned(z_gradient); }

  template <int V>
  TANDEM_PASS_INLINE void Run(int stage, PassThread thread, float* shared) const {
    const std::int64_t column = (thread.block_x * kThreadLanes + thread.lane) * V;
    const std::int64_t width = gradients.layer.width;
    if (stage == 1) return WriteTotals<V, 3>(thread, shared, width, column, partial);
    float gradient_sums[V] = {};
    float product_sums[V] = {};
    float input_sums[V] = {};
    if (column < width) AddRows<V>(thread, column, gradient_sums, product_sums, input_sums);
    Share<V>(thread, 0, gradient_sums, shared);
    Share<V>(thread, 1, product_sums, shared);
    Share<V>(thread, 2, input_sums, shared);
  }

 private:
  template <int V>
  struct Read {
    typename LayerGradients<T>::template Read<V> gradients;
    pass::Pack<T, V> z_gradient;
  };

  template <int V>
  TANDEM_PASS_INLINE void AddRows(PassThread thread, std::int64_t column, float (&gradient_sums)[V],
                                  float (&product_sums)[V], float (&input_sums)[V]) const {
    const LayerRows<T>& layer = gradients.layer;
    LayerColumns<V> columns = {};
    if (!layer.by_row()) layer.template LoadColumns<V>(column, columns);
    ForRowsOfBlock(
        thread, layer.rows, layer.width, column,
        [&](std::int64_t /*row*/, std::int64_t at) {
          return Read<V>{gradients.template ReadAt<V>(at), layer.template Read<V>(z_gradient, at)};
        },
        [&](std::int64_t row, std::int64_t /*at*/, const Read<V>& read) {
          if (layer.by_row()) layer.template LoadColumnsOfRow<V>(row, column, columns);
          float zhat[V];
          float g[V];
          gradients.template Compute<V>(read.gradients, columns, zhat, g);
          for (int i = 0; i < V; ++i) {
            gradient_sums[i] += g[i];
            product_sums[i] += g[i] * zhat[i];
          }
          if (z_gradient == nullptr) return;
          pass::WidenAll(read.z_gradient, g);
          for (int i = 0; i < V; ++i) input_sums[i] += g[i];
        });
  }
};

/// FinishSums sets gradients of parameters from the sums over blocks of rows of ColumnSums (kSums
/// is 3) or of OutputWeightSums (1), or adds to them.
template <int kSums>
struct FinishSums {
  static constexpr int kStages = 2;

  std::int64_t rows, width;
  const float* partial;  ///< (blocks of kRowsOfColumnBlock rows, kSums, width)
  bool add;
  float* gradients[kSums];  ///< (width), in the order of the sums; null for none
  /// (width), with batch normalisation: the means of the first two sums; null for none
  float *mean_gradient = nullptr, *mean_product = nullptr;

  PassGrid grid() const { return TotalsGrid(width); }
  static bool aligned() { return false; }

  template <int V>
  TANDEM_PASS_INLINE void Run(int stage, PassThread thread, float* shared) const {
    if (stage == 0) return ShareTotals<kSums>(thread, partial, rows, width, shared);
    const std::int64_t column = thread.block_x * kThreadLanes + thread.lane;
    if (thread.row != 0 || column >= width) return;
    float sums[kSums];
    for (int i = 0; i < kSums; ++i) {
      sums[i] = SharedTotal<1>(thread.lane, i, 0, shared);
      if (gradients[i] == nullptr) continue;
      gradients[i][column] = add ? gradients[i][column] + sums[i] : sums[i];
    }
    if constexpr (kSums > 1) {
      if (mean_gradient == nullptr) return;
      mean_gradient[column] = sums[0] / static_cast<float>(rows);
      mean_product[column] = sums[1] / static_cast<float>(rows);
    }
  }
};

}  // namespace tandem
