#include <c10/core/GradMode.h>
#include <gtest/gtest.h>

#include <vector>

#include "nn/device.h"
#include "nn/optimizer.h"
#include "nn/resnet_fc.h"

namespace tandem {
namespace {

constexpr std::int64_t kPadding = 3;
constexpr std::int64_t kFeatures = 12;
constexpr std::int64_t kWidth = 8;

class FlatParametersTest : public testing::Test {
 protected:
  const NetworkSpec spec_{.input = {.positions = 4, .depth = 3},
                          .layers = {.width = kWidth, .blocks = 1, .norm = Norm::kLayer},
                          .outputs = 2};
  ResNetFC net_{spec_, /*seed=*/1};
  const ResNetFC same_{spec_, /*seed=*/1};
  FlatParameters flat_{net_, FlatParameters::Copies::kBf16, kPadding};
};

TEST_F(FlatParametersTest, MovedParametersKeepTheirValues) {
  const StateDict moved = net_.State();
  const StateDict expected = same_.State();
  ASSERT_EQ(moved.size(), expected.size());
  for (std::size_t i = 0; i < moved.size(); ++i) {
    EXPECT_TRUE(moved[i].second.equal(expected[i].second)) << moved[i].first;
  }
}

TEST_F(FlatParametersTest, WritingToTheBlockChangesTheNetwork) {
  flat_.values().fill_(0.5);
  for (const at::Tensor& parameter : net_.parameters()) {
    EXPECT_TRUE(parameter.eq(0.5).all().item<bool>());
  }
  EXPECT_EQ(flat_.values().numel(), net_.NumParameters());
}

TEST_F(FlatParametersTest, ViewsByLayerAreTheParametersOfThatLayer) {
  const std::vector<DenseTensors> layers = flat_.ByLayer(flat_.values());
  ASSERT_EQ(layers.size(), net_.layers().size());
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const Dense& dense = *net_.layers()[i];
    EXPECT_TRUE(layers[i].weight.equal(dense.weight));
    EXPECT_TRUE(layers[i].bias.equal(dense.bias));
    const bool is_output = i + 1 == layers.size();
    EXPECT_EQ(layers[i].norm_weight.defined(), !is_output);
    EXPECT_EQ(layers[i].norm_bias.defined(), !is_output);
    EXPECT_EQ(layers[i].weight.const_data_ptr(), dense.weight.const_data_ptr());
  }
}

TEST_F(FlatParametersTest, FirstWeightsAreStoredByFeatureBehindZeros) {
  const at::Tensor weights = flat_.FirstWeights(flat_.values());
  ASSERT_EQ(weights.sizes(), (std::vector<std::int64_t>{kPadding + kFeatures, kWidth}));
  EXPECT_TRUE(weights.is_contiguous());
  EXPECT_TRUE(weights.narrow(0, 0, kPadding).eq(0).all().item<bool>());
  EXPECT_TRUE(weights.narrow(0, kPadding, kFeatures).equal(net_.layers()[0]->weight.t()));
}

TEST_F(FlatParametersTest, LentGradientsAreThoseOfTheBlock) {
  ASSERT_EQ(flat_.gradients().numel(), net_.NumParameters() + FlatParameters::kRoomBehindGradients);
  flat_.AttachGradients();
  flat_.gradients().fill_(2);
  for (const at::Tensor& parameter : net_.parameters()) {
    EXPECT_EQ(parameter.grad().sizes(), parameter.sizes());
    EXPECT_TRUE(parameter.grad().eq(2).all().item<bool>());
  }
}

TEST_F(FlatParametersTest, CopiesAreSetAgainOnlyIfAParameterChanged) {
  const auto are_current = [&] { return flat_.copies().equal(flat_.values().to(at::kBFloat16)); };
  flat_.SetCopiesIfOld();
  EXPECT_TRUE(are_current());
  flat_.copies().zero_();
  flat_.SetCopiesIfOld();
  EXPECT_FALSE(are_current());
  {
    const c10::NoGradGuard no_grad;
    net_.layers()[1]->bias.add_(1);
  }
  flat_.SetCopiesIfOld();
  EXPECT_TRUE(are_current());
}

TEST_F(FlatParametersTest, OptimizerWritesTheCopiesInItsStep) {
  const auto cpu = OpenDevice("cpu");
  Optimizer optimizer(net_.parameters(), {}, &flat_, cpu->passes());
  for (int i = 0; i < 2; ++i) {
    flat_.gradients().fill_(i + 1);
    flat_.AttachGradients();
    const at::Tensor before = flat_.values().clone();
    optimizer.Step(0.1);
    EXPECT_FALSE(flat_.values().equal(before));
    EXPECT_TRUE(flat_.copies().equal(flat_.values().to(at::kBFloat16)));
  }
}

TEST(FlatParameters, WithoutCopiesThereIsNothingToSet) {
  const NetworkSpec spec{.input = {.positions = 4, .depth = 3},
                         .layers = {.width = 8, .blocks = 0}};
  const ResNetFC net(spec, /*seed=*/1);
  FlatParameters flat(net, FlatParameters::Copies::kNone, /*padding=*/0);
  flat.SetCopiesIfOld();
  EXPECT_FALSE(flat.copies().defined());
}

}  // namespace
}  // namespace tandem
