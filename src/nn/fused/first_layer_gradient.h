// The gradient of the weights of a first layer that is gathered, from the rows that a fused
// training step (fused_step.h) keeps of a batch.
#pragma once

#include <cstdint>

#include "nn/fused/aligned_vector.h"
#include "tandem/domain.h"

namespace tandem {

/// FirstLayerGradient keeps the gradients of the first layer's product for all rows of a batch. The
/// weights of a feature get the sum of the gradients of the rows whose feature is 1. For each
/// position of the input, the rows are therefore sorted by its value. Calls for different rows,
/// positions or pieces may run at the same time.
template <class T>
class FirstLayerGradient {
 public:
  FirstLayerGradient(InputLayout input, std::int64_t units) : input_(input), units_(units) {}

  /// Makes room for `rows` rows, and forgets those before.
  void Reserve(std::int64_t rows);

  /// Sorts all rows of a batch, `bytes` (rows, positions), by a position of the input.
  void SortByPosition(std::int64_t rows, const std::uint8_t* bytes, std::int64_t position);

  /// Keeps the gradients of the product (rows, units) of `rows` rows of a batch of `batch_rows`,
  /// from row `first` on.
  void KeepGradient(std::int64_t first, std::int64_t rows, const T* gradient,
                    std::int64_t batch_rows);

  /// The number of pieces of the result. A piece belongs to some units and one position.
  std::int64_t NumPieces() const;

  /// Sets one piece of `into` (features, units) to the gradient of the weights, or adds it if
  /// `add`. All positions were sorted, and `rows` rows were kept.
  void Compute(std::int64_t rows, std::int64_t piece, bool add, float* into) const;

 private:
  InputLayout input_;
  std::int64_t units_;
  AlignedVector<T> gradient_;                  // in panels
  AlignedVector<std::uint32_t> order_, ends_;  // of SortRows: (positions, rows), (positions, depth)
};

}  // namespace tandem
