// The gradient of the weights of a layer, from the rows that a fused training step (fused_step.h)
// keeps of a batch.
#pragma once

#include <cstdint>

#include "nn/fused/aligned_vector.h"

namespace tandem {

/// WeightGradient keeps a layer's inputs and the gradients of its product for all rows of a batch,
/// in the order in which their product is fast. Calls for different rows, or for different units,
/// may run at the same time.
template <class T>
class WeightGradient {
 public:
  WeightGradient(std::int64_t units, std::int64_t inputs) : units_(units), inputs_(inputs) {}

  /// Makes room for `rows` rows, and forgets those before.
  void Reserve(std::int64_t rows);

  /// Keeps `rows` rows, at most kTileRows, of the inputs (rows, inputs) from row `first` on, which
  /// is a multiple of kTileRows.
  void KeepInput(std::int64_t first, std::int64_t rows, const T* x);

  /// Keeps the gradients of the product (rows, units) of the same rows. `scratch` has room for
  /// kTileRows * units words.
  void KeepGradient(std::int64_t first, std::int64_t rows, const T* gradient,
                    std::uint32_t* scratch);

  /// Sets `into` (units of the panel, inputs) to the gradient of the weights of the panel of units
  /// that begins at `unit`, or adds it if `add`. `rows` rows were kept.
  void Compute(std::int64_t rows, std::int64_t unit, bool add, float* into) const;

 private:
  std::int64_t units_, inputs_;
  AlignedVector<T> x_, gradient_;  // see weight_gradient.cc
};

}  // namespace tandem
