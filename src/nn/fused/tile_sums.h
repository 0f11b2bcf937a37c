// Gradients of a fused training step (fused_step.h) that are sums over rows and no products.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "nn/fused/aligned_vector.h"
#include "nn/fused/fused_layers.h"

namespace tandem {

/// TileSums adds up the gradients of biases, of normalisations and of the output layer: first over
/// the rows of each tile, and then over the tiles of a batch, in their order. Calls for different
/// tiles, or for different layers, may run at the same time.
template <class T>
class TileSums {
 public:
  struct HiddenSums {
    float *bias, *scale, *shift;  ///< (width)
  };
  struct OutputSums {
    float *weight, *bias;  ///< (outputs, width) and (outputs)
  };

  /// `layers` must outlive it.
  explicit TileSums(const FusedLayers<T>& layers);

  void Reserve(std::int64_t tiles);
  void Clear(std::int64_t tile);

  /// Where a tile adds its rows.
  HiddenSums OfHidden(std::int64_t tile, std::size_t layer);
  OutputSums OfOutput(std::int64_t tile);

  /// The sums of the next tile begin `stride` numbers later.
  std::int64_t stride() const { return stride_; }

  /// Sets the gradients of hidden layer `layer`, or adds to them if `add`. Those of the output
  /// layer are set with those of the first layer.
  void SetGradients(std::int64_t tiles, std::size_t layer, bool add) const;

 private:
  void AddTiles(std::int64_t tiles, std::int64_t begin, std::int64_t count, bool add,
                float* into) const;

  const FusedLayers<T>& layers_;
  std::vector<std::int64_t> begins_;  // of each hidden layer
  std::int64_t output_begin_ = 0;
  std::int64_t stride_ = 0;
  AlignedVector<float> sums_;  // (tiles, stride_)
};

}  // namespace tandem
