// The batch normalisation of a layer in a fused training step (fused_step.h).
#pragma once

#include <cstdint>

#include "nn/fused/aligned_vector.h"
#include "nn/resnet_fc.h"

namespace tandem {

/// BatchNormalisation normalises the product of a layer by the mean and the deviation of each of
/// its units over all rows of a batch. It takes the rows in tiles (kTileRows). Calls for different
/// tiles may run at the same time. A call that joins what was computed for the tiles must run
/// alone. The order for each batch is:
///
///     SetMoments(...)     for each tile of the product
///     JoinMoments(...)
///     Normalise(...)      for each tile
///     JoinGradients(...)  when the gradients of the scale and the shift are known for each tile
///     Backward(...)       for each tile
template <class T>
class BatchNormalisation {
 public:
  /// The parameters and the running statistics of `dense` must not move.
  explicit BatchNormalisation(Dense& dense);

  /// Sets `moments` (2, units) to the mean of each unit in a tile `z` (rows, units), and the sum of
  /// the squared differences from it.
  void SetMoments(std::int64_t rows, const float* z, float* moments) const;

  /// Joins the `moments` (tiles, 2, units) of a batch of `rows` rows, and updates the running
  /// statistics as LibTorch does.
  void JoinMoments(std::int64_t rows, const float* moments);

  /// Normalises a tile `z` (rows, units). The scale and the shift must follow (ActivateRows).
  void Normalise(std::int64_t rows, float* z) const;

  /// Joins the gradients of the scale and the shift (units) of a batch of `rows` rows. Those of the
  /// first tile begin at `scale_sums` and `shift_sums`, and those of each further tile `stride`
  /// numbers later.
  void JoinGradients(std::int64_t rows, const float* scale_sums, const float* shift_sums,
                     std::int64_t stride);

  /// Sets `product_gradient` from the result `z` of Normalise and the gradient of the scale's
  /// result. All are tiles (rows, units).
  void Backward(std::int64_t rows, const float* z, const float* gradient,
                T* product_gradient) const;

 private:
  std::int64_t units_;
  const float *bias_, *scale_;
  float *running_mean_, *running_var_;
  // Of the current batch; (units)
  AlignedVector<float> mean_, inverse_deviation_, mean_gradient_, mean_product_;
};

}  // namespace tandem
