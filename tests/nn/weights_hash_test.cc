#include "nn/weights_hash.h"

#include <ATen/ops/equal.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <utility>

#include "nn/resnet_fc.h"
#include "support/small_spec.h"

namespace tandem {
namespace {

// Changes the lowest bit of an element.
void FlipLowestBit(float& element) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, &element, sizeof bits);
  bits ^= 1U;
  std::memcpy(&element, &bits, sizeof bits);
}

TEST(SumsOfBits, DifferIfOneElementOfAnyTensorDiffersByOneBit) {
  const ResNetFC net(SmallSpec(Norm::kBatch), 1);
  const StateDict state = net.State();
  const at::Tensor before = SumsOfBits(state);
  ASSERT_EQ(before.numel(), static_cast<std::int64_t>(2 * state.size()));
  EXPECT_TRUE(at::equal(before, SumsOfBits(state)));
  int changed = 0;
  for (const auto& [name, tensor] : state) {
    if (tensor.scalar_type() != at::kFloat) continue;
    auto* const last = tensor.mutable_data_ptr<float>() + tensor.numel() - 1;
    FlipLowestBit(*last);
    EXPECT_FALSE(at::equal(before, SumsOfBits(state))) << name;
    FlipLowestBit(*last);
    ++changed;
  }
  EXPECT_GT(changed, 4);
}

TEST(SumsOfBits, DifferIfTwoElementsChangePlaces) {
  const ResNetFC net(SmallSpec(Norm::kNone), 1);
  const StateDict state = net.State();
  const at::Tensor before = SumsOfBits(state);
  auto* const data = state.front().second.mutable_data_ptr<float>();
  ASSERT_NE(data[0], data[1]);
  std::swap(data[0], data[1]);
  EXPECT_FALSE(at::equal(before, SumsOfBits(state)));
}

}  // namespace
}  // namespace tandem
