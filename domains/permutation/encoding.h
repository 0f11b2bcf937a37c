// The bytes of a state.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "tandem/permutation.h"

namespace tandem {

/// LabelBytes writes the labels of a puzzle, which are numbers, as the bytes of a state: one for
/// each position or, if there are more than 256 labels, two digits of about the same range.
class LabelBytes {
 public:
  /// Read for two bytes that are no digits of a label.
  static constexpr std::uint16_t kNoLabel = 65'535;

  explicit LabelBytes(std::size_t num_labels);

  std::size_t per_label() const { return base_ == 0 ? 1 : 2; }

  std::vector<std::uint8_t> Write(std::span<const std::uint16_t> labels) const;
  std::vector<std::uint16_t> Read(std::span<const std::uint8_t> state) const;

  /// Returns the permutations of the bytes, from those of the positions.
  std::vector<Permutation> OfBytes(const std::vector<Permutation>& permutations) const;

 private:
  std::size_t base_ = 0;  // of the digits; 0 if there is one byte for each label
};

}  // namespace tandem
