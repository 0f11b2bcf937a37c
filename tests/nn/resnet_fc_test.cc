#include "nn/resnet_fc.h"

#include <ATen/ops/allclose.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/tensor.h>
#include <c10/core/GradMode.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "nn/tensor_file.h"
#include "nn/threads.h"
#include "support/small_spec.h"
#include "tandem/error.h"

namespace tandem {
namespace {

TEST(OneHot, SetsTheFeatureOfEachPosition) {
  const OneHot one_hot({3, 4}, at::kFloat, c10::kCPU);
  const at::Tensor bytes = at::tensor({0, 3, 1, 2, 2, 0}, at::kByte).view({2, 3});
  const at::Tensor expected = at::tensor({1, 0, 0, 0, 0, 0, 0, 1, 0, 1, 0, 0,   //
                                          0, 0, 1, 0, 0, 0, 1, 0, 1, 0, 0, 0},  //
                                         at::kFloat)
                                  .view({2, 12});
  EXPECT_TRUE(at::equal(one_hot(bytes), expected));
}

TEST(ResNetFC, HasTheShapeAndSizeOfDeepCubeA) {
  const ResNetFC net(
      {.input = {.positions = 54, .depth = 6},
       .layers = {.stem_width = 5000, .width = 1000, .blocks = 4, .norm = Norm::kBatch}},
      1);
  // 324*5000 + 5000*1000 + 8*1000*1000 + 1000 weights, their biases, and 2 for each normalised unit
  EXPECT_EQ(net.NumParameters(), 14'621'000 + 14'001 + 2 * 14'000);
}

TEST(ResNetFC, InitialWeightsDependOnTheSeedOnly) {
  const auto sha = [](std::uint64_t seed) {
    return WeightsSha256(ResNetFC(SmallSpec(Norm::kLayer), seed).State());
  };
  EXPECT_EQ(sha(1), sha(1));
  EXPECT_NE(sha(1), sha(2));
  const ResNetFC net(SmallSpec(Norm::kNone), 1);
  const at::Tensor& weight = net.layers()[1]->weight;  // 16 inputs: within 1/4
  EXPECT_LE(weight.abs().max().item<float>(), 0.25F);
  EXPECT_GT(weight.abs().max().item<float>(), 0.2F);
}

TEST(ResNetFC, StateDictHasTheOrderOfPython) {
  std::vector<std::string> names;
  for (const auto& [name, tensor] : ResNetFC(SmallSpec(Norm::kBatch), 1).State()) {
    names.push_back(name);
  }
  const std::vector<std::string> first(names.begin(), names.begin() + 7);
  EXPECT_EQ(first, (std::vector<std::string>{
                       "hidden0.weight", "hidden0.bias", "hidden0.norm_weight", "hidden0.norm_bias",
                       "hidden0.running_mean", "hidden0.running_var", "hidden1.weight"}));
  EXPECT_EQ(names.back(), "output.bias");
}

TEST(ResNetFC, WeightsOfOneInputLayerDoNotLoadIntoTheOther) {
  NetworkSpec spec = SmallSpec(Norm::kNone);
  spec.layers.stem_width = 0;
  const ResNetFC hidden(spec, 1);
  spec.layers.input_layer = InputLayer::kLinear;
  const ResNetFC linear(spec, 1);
  EXPECT_EQ(linear.NumParameters(), hidden.NumParameters());
  const StateDict state = linear.State();
  EXPECT_THROW(LoadStateDict({state.begin(), state.end()}, hidden.State(), "file"), InputError);
}

TEST(ResNetFC, UnderAutocastTheOutputLayerStaysInFp32) {
  ResNetFC net(SmallSpec(Norm::kLayer), 1);
  {
    const c10::NoGradGuard no_grad;
    net.layers().back()->bias.fill_(20);  // where bf16 values differ by 1/8
  }
  const at::Tensor features = OneHot({5, 3}, at::kFloat, c10::kCPU)(RandomRows(64));
  at::Tensor outputs;
  {
    const ScopedAutocast autocast(c10::kCPU, /*enabled=*/true);
    outputs = net.Forward(features);
    EXPECT_TRUE(at::autocast::is_autocast_enabled(c10::kCPU));
  }
  EXPECT_EQ(outputs.scalar_type(), at::kFloat);
  EXPECT_FALSE(at::equal(outputs, outputs.to(at::kBFloat16).to(at::kFloat)));
  EXPECT_TRUE(at::allclose(outputs, net.Forward(features), 0, 0.05));
}

TEST(ResNetFC, RmsNormDividesByTheRootMeanSquare) {
  const at::Tensor x = at::tensor({3.0F, -4.0F}).view({1, 2});
  const at::Tensor y = NormaliseRows(Norm::kRms, x, at::tensor({1.0F, 2.0F}), {});
  const double rms = std::sqrt((9 + 16) / 2.0);
  EXPECT_NEAR(y[0][0].item<float>(), 3 / rms, 1e-5);
  EXPECT_NEAR(y[0][1].item<float>(), 2 * -4 / rms, 1e-5);
}

TEST(ResNetFC, ActivationsHaveTheValuesComputedByHand) {
  const auto at_minus_one_and_two = [](Activation activation) {
    const at::Tensor y = Activate(activation, at::tensor({-1.0F, 2.0F}));
    return std::pair(y[0].item<float>(), y[1].item<float>());
  };
  EXPECT_EQ(at_minus_one_and_two(Activation::kRelu), std::pair(0.0F, 2.0F));
  EXPECT_EQ(at_minus_one_and_two(Activation::kLeakyRelu), std::pair(-0.01F, 2.0F));
}

}  // namespace
}  // namespace tandem
