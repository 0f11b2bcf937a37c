// What the passes over a hidden layer (forward_pass.h, backward_passes.h) read and compute.
#pragma once

#include <cmath>
#include <cstdint>

#include "config/choices.h"
#include "nn/tensors/device_pass.h"

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

/// LayerColumns is what a pass needs to know of V columns of a layer, in some row if the statistics
/// are those of rows: zhat = z * inverse + offset, and the input of the activation is zhat * scale
/// + shift + skip.
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

  // Whether the slope of the activation is that of its input, which is computed again, or else
  // taken from its result.
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

}  // namespace tandem
