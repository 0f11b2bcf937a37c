#include "nn/inference_net.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/allclose.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <c10/core/GradMode.h>
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <tuple>
#include <vector>

#include "nn/optimizer.h"
#include "nn/resnet_fc.h"
#include "support/by_operators.h"
#include "support/recorded_ops.h"
#include "support/small_spec.h"
#include "tandem/error.h"

namespace tandem {
namespace {

// A network whose normalisation has seen data, so that folding it has an effect.
std::unique_ptr<ResNetFC> TrainedALittle(const NetworkSpec& spec) {
  auto net = std::make_unique<ResNetFC>(spec, 3);
  const OneHot one_hot({5, 3}, at::kFloat, c10::kCPU);
  Optimizer optimizer(net->parameters(), {});
  for (int i = 0; i < 20; ++i) {
    (net->Forward(one_hot(RandomRows(32))) - 4).square().mean().backward();
    optimizer.Step(0.01);
  }
  return net;
}

class Inference : public testing::TestWithParam<std::tuple<Norm, Activation>> {
 protected:
  static NetworkSpec Spec() {
    return SmallSpec(std::get<Norm>(GetParam()), std::get<Activation>(GetParam()));
  }

  InferenceNet Make(const NetworkSpec& spec, Precision precision = Precision::kFp32) {
    return {spec, ByOperators(16, precision), *device_};
  }

  const std::unique_ptr<Device> device_ = OpenDevice("cpu");
};

TEST_P(Inference, EqualsTheNetworkInEvalMode) {
  const auto net = TrainedALittle(Spec());
  InferenceNet copy = Make(net->spec());
  copy.Load(*net);
  net->SetTraining(false);
  const at::Tensor rows = RandomRows(64);
  const at::Tensor expected = net->Forward(OneHot({5, 3}, at::kFloat, c10::kCPU)(rows)).detach();
  EXPECT_TRUE(at::allclose(copy.Forward(rows), expected, 1e-4, 1e-5));
  EXPECT_GT(expected.std().item<float>(), 1e-3F);
  EXPECT_TRUE(copy.estimates_states());
  EXPECT_EQ(copy.action_values(), ActionValues::kNone);
}

TEST_P(Inference, IsCloseToTheNetworkInBf16) {
  const auto net = TrainedALittle(Spec());
  InferenceNet copy = Make(net->spec(), Precision::kBf16);
  copy.Load(*net);
  net->SetTraining(false);
  const at::Tensor rows = RandomRows(64);
  const at::Tensor expected = net->Forward(OneHot({5, 3}, at::kFloat, c10::kCPU)(rows)).detach();
  EXPECT_TRUE(at::allclose(copy.Forward(rows), expected, 0.05, 0.05));
  EXPECT_FALSE(at::allclose(copy.Forward(rows), expected, 1e-6, 1e-6));
}

TEST_P(Inference, KeepsItsWeightsWhileTheNetworkTrains) {
  const auto net = TrainedALittle(Spec());
  InferenceNet copy = Make(net->spec());
  copy.Load(*net);
  const at::Tensor rows = RandomRows(8);
  const at::Tensor before = copy.Forward(rows).clone();
  {
    const c10::NoGradGuard no_grad;
    for (at::Tensor& parameter : net->parameters()) parameter.mul_(2);
  }
  EXPECT_TRUE(at::equal(copy.Forward(rows), before));
  copy.Load(*net);
  EXPECT_FALSE(at::equal(copy.Forward(rows), before));
}

TEST_P(Inference, IsMadeWithoutARandomNetwork) {
  const RecordedOps ops;
  const InferenceNet copy = Make(Spec());
  EXPECT_EQ(ops.Count("aten::uniform_"), 0);
  EXPECT_GT(ops.Count("aten::empty"), 0);
}

TEST_P(Inference, EvaluatesInBatchesAndInOrder) {
  const auto net = TrainedALittle(Spec());
  InferenceNet copy = Make(net->spec());
  copy.Load(*net);
  const at::Tensor rows = RandomRows(50);
  std::vector<float> values(50);
  copy.Evaluate(ConstRows(rows.const_data_ptr<std::uint8_t>(), 50, 5), values);
  const at::Tensor expected = copy.Forward(rows).squeeze(1);
  EXPECT_TRUE(at::allclose(at::tensor(values), expected, 1e-5, 1e-6));
}

TEST_P(Inference, QNetGivesActionValuesAndTheirMinimum) {
  NetworkSpec spec = Spec();
  spec.layers.head = Head::kQ;
  spec.outputs = 3;
  const ResNetFC net(spec, 1);
  InferenceNet copy = Make(spec);
  copy.Load(net);
  const at::Tensor rows = RandomRows(21);
  const ConstRows inputs(rows.const_data_ptr<std::uint8_t>(), 21, 5);
  std::vector<float> actions(63), values(21);
  copy.EvaluateActions(inputs, actions);
  copy.Evaluate(inputs, values);
  const at::Tensor expected = copy.Forward(rows);
  EXPECT_TRUE(at::allclose(at::tensor(actions).view({21, 3}), expected, 1e-5, 1e-6));
  EXPECT_TRUE(at::allclose(at::tensor(values), expected.amin(1), 1e-5, 1e-6));
  EXPECT_TRUE(copy.estimates_states());
  EXPECT_EQ(copy.action_values(), ActionValues::kQValues);
}

INSTANTIATE_TEST_SUITE_P(
    AllNormsAndActivations, Inference,
    testing::Combine(testing::Values(Norm::kNone, Norm::kBatch, Norm::kLayer, Norm::kRms),
                     testing::Values(Activation::kRelu, Activation::kLeakyRelu)));

TEST(Inference, PolicyGivesNegativeLogProbabilitiesAndNoEstimates) {
  NetworkSpec spec = SmallSpec(Norm::kLayer);
  spec.layers.head = Head::kPolicy;
  spec.outputs = 4;
  const auto device = OpenDevice("cpu");
  InferenceNet inference(spec, ByOperators(8), *device);
  inference.Load(ResNetFC(spec, 1));
  const at::Tensor rows = RandomRows(3);
  const ConstRows inputs(rows.const_data_ptr<std::uint8_t>(), 3, 5);
  std::vector<float> values(12), estimates(3);
  inference.EvaluateActions(inputs, values);
  for (std::size_t row = 0; row < 3; ++row) {
    float sum = 0;
    for (std::size_t a = 0; a < 4; ++a) sum += std::exp(-values[4 * row + a]);
    EXPECT_NEAR(sum, 1, 1e-5);
  }
  EXPECT_EQ(inference.action_values(), ActionValues::kSurprisals);
  EXPECT_FALSE(inference.estimates_states());
  EXPECT_THROW(inference.Evaluate(inputs, estimates), Error);
}

TEST(Inference, ValueAndPolicyGivesTheFirstOutputAndProbabilitiesOfTheOthers) {
  NetworkSpec spec = SmallSpec(Norm::kLayer);
  spec.layers.head = Head::kVp;
  spec.outputs = 1 + 4;
  const auto device = OpenDevice("cpu");
  InferenceNet inference(spec, ByOperators(8), *device);
  inference.Load(ResNetFC(spec, 1));
  // A power of two, to which Evaluate pads: products of another number of rows round differently.
  constexpr std::int64_t kRows = 4;
  const at::Tensor rows = RandomRows(kRows);
  const at::Tensor outputs = inference.Forward(rows);
  const ConstRows inputs(rows.const_data_ptr<std::uint8_t>(), kRows, 5);
  std::vector<float> values(4 * kRows), estimates(kRows);
  inference.Evaluate(inputs, estimates);
  inference.EvaluateActions(inputs, values);
  const at::Tensor on_device = inference.EstimateBatches(rows);
  ASSERT_TRUE(on_device.is_contiguous());
  EXPECT_TRUE(inference.estimates_states());
  EXPECT_EQ(inference.action_values(), ActionValues::kSurprisals);
  for (std::int64_t row = 0; row < kRows; ++row) {
    const auto i = static_cast<std::size_t>(row);
    EXPECT_FLOAT_EQ(estimates[i], outputs[row][0].item<float>());
    EXPECT_FLOAT_EQ(on_device[row].item<float>(), estimates[i]);
    double sum = 0;
    for (std::int64_t a = 0; a < 4; ++a) sum += std::exp(outputs[row][1 + a].item<double>());
    for (std::int64_t a = 0; a < 4; ++a) {
      const double surprisal = std::log(sum) - outputs[row][1 + a].item<double>();
      EXPECT_NEAR(values[4 * i + static_cast<std::size_t>(a)], surprisal, 1e-5);
    }
  }
  // One evaluation gives both, and the default of the interface, which takes two, gives the same.
  std::vector<float> both(5 * kRows), by_default(5 * kRows);
  inference.EvaluateWithActions(inputs, both);
  inference.Evaluator::EvaluateWithActions(inputs, by_default);
  EXPECT_EQ(both, by_default);
  EXPECT_EQ(both[5], estimates[1]);
  EXPECT_EQ(both[6], values[4]);
}

TEST(Inference, ActionAsInputGivesTheValueOfEveryPairAsAQNet) {
  for (const int depth : {3, 6}) {  // below and above the number of actions
    NetworkSpec spec = SmallSpec(Norm::kLayer);
    spec.layers.head = Head::kQIn;
    spec.actions = 4;
    const int action_positions = depth == 3 ? 4 : 1;
    spec.input = {.positions = 5 + action_positions, .depth = depth};
    ASSERT_EQ(spec.state_positions(), 5);
    ResNetFC net(spec, 1);
    const auto device = OpenDevice("cpu");
    InferenceNet inference(spec, ByOperators(8), *device);
    inference.Load(net);
    EXPECT_EQ(inference.action_values(), ActionValues::kQValues);
    const at::Tensor rows = RandomRows(7);  // more than the two states of a batch
    at::Tensor pairs = at::zeros({28, 5 + action_positions}, at::kByte);
    for (std::int64_t i = 0; i < 28; ++i) {
      pairs[i].narrow(0, 0, 5).copy_(rows[i / 4]);
      if (depth == 3) {
        pairs[i][5 + i % 4] = 1;
      } else {
        pairs[i][5] = i % 4;
      }
    }
    const OneHot one_hot(spec.input, at::kFloat, c10::kCPU);
    const c10::NoGradGuard no_grad;
    const at::Tensor expected = net.Forward(one_hot(pairs)).view({7, 4});
    std::vector<float> values(28), estimates(7);
    const ConstRows inputs(rows.const_data_ptr<std::uint8_t>(), 7, 5);
    inference.EvaluateActions(inputs, values);
    inference.Evaluate(inputs, estimates);
    EXPECT_TRUE(at::allclose(at::tensor(values).view({7, 4}), expected, 1e-4, 1e-5));
    EXPECT_TRUE(at::allclose(at::tensor(estimates), expected.amin(1), 1e-4, 1e-5));
    EXPECT_TRUE(at::allclose(inference.EstimateBatches(rows), expected.amin(1), 1e-4, 1e-5));
  }
}

}  // namespace
}  // namespace tandem
