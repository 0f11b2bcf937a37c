// The weights of a fused evaluation (fused_copy.cc) in the forms in which it reads them: tables of
// sums for the first layer, and int8.
#pragma once

#include <cstdint>
#include <limits>

#include "nn/cpu/passes.h"
#include "tandem/domain.h"

namespace tandem {

/// FirstLayerTables sums the weights of the first layer's active features. It looks up the sums of
/// several positions of the input at once: a group of positions shares a table, which has a row for
/// each combination of their values.
///
/// Entry is float or std::int16_t. Whole numbers take half the memory, and one instruction adds up
/// to 32 of them. They are rounded such that no sum overflows, and have a scale for each unit.
template <class Entry>
class FirstLayerTables {
 public:
  FirstLayerTables(InputLayout input, std::int64_t units);

  /// Makes Pack subtract from each row, and from a copy of `bias`, its mean over the units. The
  /// sums then have mean 0, and a layer normalisation need not compute it. Returns the copy.
  const float* Centre(const float* bias);

  /// Makes the tables from weights (features, units). Throws InputError if there are too many
  /// tables for sums in 16 bits.
  void Pack(const float* weight);

  std::int64_t num_tables() const { return num_tables_; }

  /// By which sums of whole numbers must be multiplied: (units).
  const float* unit_scale() const { return unit_scale_.data(); }

  /// Sets `sums` (rows, units) to those of the rows of `bytes` (rows, positions). `values` has room
  /// for rows * num_tables() bytes.
  void LookUp(std::int64_t rows, const std::uint8_t* bytes, std::uint8_t* values,
              Entry* sums) const;

 private:
  void SubtractMeans(AlignedVector<float>& entries);

  InputLayout input_;
  std::int64_t units_;
  // There are `num_tables_` tables, of `values_` rows each, for `together_` positions each.
  std::int64_t together_, num_tables_, values_ = 1;
  const float* bias_ = nullptr;  // if Pack subtracts means; otherwise null
  AlignedVector<float> centred_bias_;
  AlignedVector<Entry> tables_;  // (num_tables_ * values_, units)
  AlignedVector<float> unit_scale_;
};

/// Int8Weights are weights rounded to whole numbers, with one scale for each unit.
struct Int8Weights {
  AlignedVector<std::int8_t> operand;         ///< (PaddedInputs, units), in panels
  AlignedVector<float> unit_scale, unit_sum;  ///< (units); DequantizeRows

  /// The number of rows of `operand`: inputs rounded up to whole words.
  static std::int64_t PaddedInputs(std::int64_t inputs);

  /// Products of int8 with activations, which are from 0 to 255, are added up in 32 bits. With more
  /// inputs, a sum could overflow.
  static constexpr std::int64_t kMostInputs =
      std::numeric_limits<std::int32_t>::max() /
      (std::numeric_limits<std::uint8_t>::max() * std::numeric_limits<std::int8_t>::max());
};

/// Rounds `weight` (units, inputs). If a weight of a unit is not finite, its scale and its sum are
/// not either, so that the unit's results are NaN.
Int8Weights RoundToInt8(const float* weight, std::int64_t inputs, std::int64_t units);

}  // namespace tandem
