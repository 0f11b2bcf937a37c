#include "nn/fused/int8_weights.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "nn/fused/block_products.h"

namespace tandem {
namespace {

// The numbers of this many inputs of a unit lie next to each other.
constexpr std::int64_t kPerWord = kRowsPerWord<std::int8_t>;

constexpr auto kMost = static_cast<float>(std::numeric_limits<std::int8_t>::max());

}  // namespace

std::int64_t Int8Weights::PaddedInputs(std::int64_t inputs) {
  return CeilDivide(inputs, kPerWord) * kPerWord;
}

Int8Weights RoundToInt8(const float* weight, std::int64_t inputs, std::int64_t units) {
  const std::int64_t rows = Int8Weights::PaddedInputs(inputs);
  Int8Weights to{.operand = AlignedVector<std::int8_t>(Size(rows * units)),
                 .unit_scale = AlignedVector<float>(Size(units)),
                 .unit_sum = AlignedVector<float>(Size(units))};
  for (std::int64_t unit = 0; unit < units; ++unit) {
    const float* row = weight + unit * inputs;
    const std::int64_t panel = unit / kPanelColumns * kPanelColumns;
    const std::int64_t panel_width = PanelWidth(panel, units);
    std::int8_t* column = to.operand.data() + panel * rows + (unit - panel) * kPerWord;
    float most = 0;
    float total = 0;
    for (std::int64_t i = 0; i < inputs; ++i) {
      most = std::max(most, std::abs(row[i]));
      total += std::abs(row[i]);
    }
    const bool finite = std::isfinite(total);
    const float scale = finite ? most / kMost : std::numeric_limits<float>::quiet_NaN();
    const float inverse = finite && most > 0 ? kMost / most : 0;
    std::int64_t sum = 0;
    for (std::int64_t i = 0; finite && i < inputs; ++i) {
      const auto rounded = static_cast<std::int8_t>(std::lrint(row[i] * inverse));
      sum += rounded;
      column[i / kPerWord * panel_width * kPerWord + i % kPerWord] = rounded;
    }
    to.unit_scale[Size(unit)] = scale;
    to.unit_sum[Size(unit)] = static_cast<float>(sum) * scale;
  }
  return to;
}

}  // namespace tandem
