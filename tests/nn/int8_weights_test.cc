#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <limits>
#include <vector>

#include "nn/cpu/block_products.h"
#include "nn/cpu/packed_weights.h"

namespace tandem {
namespace {

// More units than a panel, and no whole words of inputs.
constexpr std::int64_t kInputs = 7;
constexpr std::int64_t kUnits = kPanelColumns + 3;

std::vector<float> Weights() {
  std::vector<float> weights(kInputs * kUnits);
  for (std::size_t i = 0; i < weights.size(); ++i) {
    weights[i] = std::sin(static_cast<float>(i)) * static_cast<float>(1 + i % 5);
  }
  return weights;
}

// The whole number in the operand of a product.
int NumberAt(const Int8Weights& weights, std::int64_t unit, std::int64_t input) {
  const std::int64_t joined = kRowsPerWord<std::int8_t>;
  const std::int64_t panel = unit / kPanelColumns * kPanelColumns;
  const std::int64_t width = PanelWidth(panel, kUnits);
  const std::int64_t row = input / joined * width * joined;
  return weights.operand[static_cast<std::size_t>(panel * Int8Weights::PaddedInputs(kInputs) + row +
                                                  (unit - panel) * joined + input % joined)];
}

TEST(Int8Weights, AreTheWeightsRoundedToStepsOfTheirUnit) {
  const std::vector<float> exact = Weights();
  const Int8Weights rounded = RoundToInt8(exact.data(), kInputs, kUnits);
  for (std::int64_t unit = 0; unit < kUnits; ++unit) {
    const float scale = rounded.unit_scale[static_cast<std::size_t>(unit)];
    float sum = 0;
    int most = 0;
    for (std::int64_t input = 0; input < kInputs; ++input) {
      const int number = NumberAt(rounded, unit, input);
      EXPECT_NEAR(static_cast<float>(number) * scale,
                  exact[static_cast<std::size_t>(unit * kInputs + input)], 0.501F * scale);
      sum += static_cast<float>(number) * scale;
      most = std::max(most, std::abs(number));
    }
    EXPECT_EQ(most, 127);
    EXPECT_NEAR(rounded.unit_sum[static_cast<std::size_t>(unit)], sum, 1e-4);
  }
}

TEST(Int8Weights, RowsThatFillTheLastWordAreZero) {
  const Int8Weights rounded = RoundToInt8(Weights().data(), kInputs, kUnits);
  for (std::int64_t unit = 0; unit < kUnits; ++unit) EXPECT_EQ(NumberAt(rounded, unit, kInputs), 0);
}

TEST(Int8Weights, AUnitWithAWeightThatIsNotFiniteHasNoScale) {
  for (const float weight : {std::nanf(""), std::numeric_limits<float>::infinity()}) {
    std::vector<float> weights = Weights();
    weights[2 * kInputs + 1] = weight;
    const Int8Weights rounded = RoundToInt8(weights.data(), kInputs, kUnits);
    EXPECT_TRUE(std::isnan(rounded.unit_scale[2]));
    EXPECT_TRUE(std::isnan(rounded.unit_sum[2]));
    EXPECT_TRUE(std::isfinite(rounded.unit_scale[1]));
  }
}

}  // namespace
}  // namespace tandem
