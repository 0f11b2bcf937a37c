#include <ATen/ops/allclose.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/eye.h>
#include <ATen/ops/full.h>
#include <ATen/ops/full_like.h>
#include <ATen/ops/linalg_svdvals.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/scalar_tensor.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>
#include <c10/core/GradMode.h>
#include <gtest/gtest.h>
#include <omp.h>
#include <sys/stat.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <thread>
#include <tuple>

#include "archive/tensor_archive.h"
#include "base/file.h"
#include "base/mapped_file.h"
#include "nn/inference_net.h"
#include "nn/optimizer.h"
#include "nn/products.h"
#include "nn/resnet_fc.h"
#include "nn/tensor_file.h"
#include "nn/threads.h"
#include "nn/weight_average.h"
#include "support/pickles.h"
#include "support/recorded_ops.h"
#include "support/temp_folder.h"
#include "tandem/error.h"

namespace tandem {
namespace {

NetworkSpec SmallSpec(Norm norm, Activation activation = Activation::kRelu) {
  return {.input = {.positions = 5, .depth = 3},
          .layers = {
              .stem_width = 16, .width = 8, .blocks = 2, .norm = norm, .activation = activation}};
}

at::Tensor RandomRows(std::int64_t n) { return at::randint(0, 3, {n, 5}, at::kByte); }

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

// The floating-point operations of the matrix products of an operator, from its text.
std::string FlopsOf(const at::RecordFunction& op) {
  const std::string name = op.name();
  if (name != "aten::mm" && name != "aten::addmm") return "";
  const std::size_t first = name == "aten::mm" ? 0 : 1;
  const at::Tensor& left = op.inputs()[first].toTensor();
  const at::Tensor& right = op.inputs()[first + 1].toTensor();
  return std::to_string(2 * left.size(0) * left.size(1) * right.size(1));
}

TEST(ResNetFC, FlopCountsMatchTheComputedProducts) {
  constexpr std::int64_t kRows = 7;
  const auto total = [](const RecordedOps& ops) {
    double sum = 0;
    for (const std::string& flops : ops.all()) sum += std::stod(flops);
    return sum;
  };
  for (const std::int64_t stem : {0, 16}) {
    NetworkSpec spec = SmallSpec(Norm::kBatch);
    spec.layers.stem_width = stem;
    ResNetFC net(spec, 1);
    const at::Tensor features = OneHot({5, 3}, at::kFloat, c10::kCPU)(RandomRows(kRows));
    const RecordedOps ops(&FlopsOf);
    const at::Tensor loss = net.Forward(features).mean();
    EXPECT_EQ(total(ops), kRows * CostOf(spec).evaluation_flop);
    loss.backward();
    EXPECT_EQ(total(ops), kRows * CostOf(spec).training_flop);
  }
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

// A program in Python may use autocast on the thread that calls Tandem.
TEST(ScopedAutocast, RestoresTheSettingsOfTheThread) {
  const at::ScalarType before = at::autocast::get_autocast_dtype(c10::kCPU);
  at::autocast::set_autocast_dtype(c10::kCPU, at::kHalf);
  for (const bool enabled : {false, true}) {
    const ScopedAutocast autocast(c10::kCPU, enabled);
    EXPECT_EQ(at::autocast::get_autocast_dtype(c10::kCPU), at::kBFloat16);
  }
  EXPECT_EQ(at::autocast::get_autocast_dtype(c10::kCPU), at::kHalf);
  EXPECT_FALSE(at::autocast::is_autocast_enabled(c10::kCPU));
  at::autocast::set_autocast_dtype(c10::kCPU, before);
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
  EXPECT_NEAR(at_minus_one_and_two(Activation::kSilu).first, -1 / (1 + std::exp(1.0)), 1e-6);
  EXPECT_NEAR(at_minus_one_and_two(Activation::kSilu).second, 2 / (1 + std::exp(-2.0)), 1e-6);
}

class Inference : public testing::TestWithParam<std::tuple<Norm, Activation>> {
 protected:
  static NetworkSpec Spec() {
    return SmallSpec(std::get<Norm>(GetParam()), std::get<Activation>(GetParam()));
  }

  InferenceNet Make(const NetworkSpec& spec, Precision precision = Precision::kFp32) {
    return {spec,
            {.batch_size = 16,
             .threads = 1,
             .precision = precision,
             .forward = InferenceForward::kOperators},
            *device_};
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
}

INSTANTIATE_TEST_SUITE_P(AllNormsAndActivations, Inference,
                         testing::Combine(testing::Values(Norm::kNone, Norm::kBatch, Norm::kLayer,
                                                          Norm::kRms),
                                          testing::Values(Activation::kRelu, Activation::kLeakyRelu,
                                                          Activation::kSilu)));

TEST(Inference, PolicyGivesNegativeLogProbabilitiesAndNoEstimates) {
  NetworkSpec spec = SmallSpec(Norm::kLayer);
  spec.layers.head = Head::kPolicy;
  spec.outputs = 4;
  const auto device = OpenDevice("cpu");
  InferenceNet inference(spec,
                         {.batch_size = 8,
                          .threads = 1,
                          .precision = Precision::kFp32,
                          .forward = InferenceForward::kOperators},
                         *device);
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
  EXPECT_THROW(inference.Evaluate(inputs, estimates), Error);
}

TEST(Inference, ValueAndPolicyGivesTheFirstOutputAndProbabilitiesOfTheOthers) {
  NetworkSpec spec = SmallSpec(Norm::kLayer);
  spec.layers.head = Head::kVp;
  spec.outputs = 1 + 4;
  const auto device = OpenDevice("cpu");
  InferenceNet inference(spec,
                         {.batch_size = 8,
                          .threads = 1,
                          .precision = Precision::kFp32,
                          .forward = InferenceForward::kOperators},
                         *device);
  inference.Load(ResNetFC(spec, 1));
  // A power of two, to which Evaluate pads: products of another number of rows round differently.
  constexpr std::int64_t kRows = 4;
  const at::Tensor rows = RandomRows(kRows);
  const at::Tensor outputs = inference.Forward(rows);
  const ConstRows inputs(rows.const_data_ptr<std::uint8_t>(), kRows, 5);
  std::vector<float> values(4 * kRows), estimates(kRows);
  inference.Evaluate(inputs, estimates);
  inference.EvaluateActions(inputs, values);
  const at::Tensor on_device = inference.Estimates(rows);
  ASSERT_TRUE(on_device.is_contiguous());
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
    InferenceNet inference(spec,
                           {.batch_size = 8,
                            .threads = 1,
                            .precision = Precision::kFp32,
                            .forward = InferenceForward::kOperators},
                           *device);
    inference.Load(net);
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
    EXPECT_TRUE(at::allclose(inference.Estimates(rows), expected.amin(1), 1e-4, 1e-5));
  }
}

TEST(Optimizer, TakesTheStepComputedByHand) {
  // Gradient 0.5 and then -1 at rate 0.1, beta1 0.9, beta2 0.99, epsilon 0:
  //   m1 = 0.05, v1 = 0.0025; corrected 0.5 and 0.25, so the first step is 0.1 * 0.5 / 0.5
  //   m2 = -0.055, v2 = 0.012475; corrected -0.055/0.19 and 0.012475/0.0199
  const OptimizerConfig adam{
      .name = OptimizerKind::kAdam, .beta1 = 0.9, .beta2 = 0.99, .epsilon = 0};
  at::Tensor w = at::tensor({2.0F}).requires_grad_();
  Optimizer optimizer({w}, adam);
  w.mutable_grad() = at::tensor({0.5F});
  optimizer.Step(0.1);
  EXPECT_NEAR(w.item<float>(), 1.9, 1e-6);
  EXPECT_FALSE(w.grad().defined());
  w.mutable_grad() = at::tensor({-1.0F});
  optimizer.Step(0.1);
  const double step = 0.1 * (0.055 / 0.19) / std::sqrt(0.012475 / 0.0199);
  EXPECT_NEAR(w.item<float>(), 1.9 + step, 1e-6);
}

TEST(Optimizer, AdamAndAdamWDifferInWeightDecay) {
  // AdamW shrinks the weight itself, by rate * decay; Adam adds decay * weight to the gradient,
  // which its first step then turns into a step of the whole rate.
  const auto after_one_step = [](OptimizerKind kind) {
    at::Tensor w = at::tensor({2.0F}).requires_grad_();
    Optimizer optimizer({w}, {.name = kind, .weight_decay = 0.1, .epsilon = 0});
    w.mutable_grad() = at::tensor({0.5F});
    optimizer.Step(0.01);
    return w.item<float>();
  };
  EXPECT_NEAR(after_one_step(OptimizerKind::kAdamW), 2 * (1 - 0.01 * 0.1) - 0.01, 1e-6);
  EXPECT_NEAR(after_one_step(OptimizerKind::kAdam), 2 - 0.01, 1e-6);
}

TEST(Optimizer, SgdTakesTheStepsComputedByHand) {
  // Gradients 0.5 and then -1, at rate 0.1, momentum 0.9 and weight decay 0.1:
  //   m1 = 0.5 + 0.1 * 2 = 0.7, w1 = 2 - 0.07; m2 = 0.9 * 0.7 - 1 + 0.193, w2 = w1 - 0.1 * m2
  at::Tensor w = at::tensor({2.0F}).requires_grad_();
  Optimizer optimizer({w}, {.name = OptimizerKind::kSgd, .weight_decay = 0.1, .momentum = 0.9});
  w.mutable_grad() = at::tensor({0.5F});
  optimizer.Step(0.1);
  EXPECT_NEAR(w.item<float>(), 1.93, 1e-6);
  w.mutable_grad() = at::tensor({-1.0F});
  optimizer.Step(0.1);
  EXPECT_NEAR(w.item<float>(), 1.93 - 0.1 * (0.63 - 1 + 0.193), 1e-6);
}

TEST(Optimizer, SgdWithNesterovMomentumTakesTheStepsComputedByHand) {
  // Gradients 0.5 and then -1, at rate 0.1 and momentum 0.9:
  //   m1 = 0.5, w1 = 2 - 0.1 * (0.5 + 0.9 * m1); m2 = 0.9 * m1 - 1, w2 = w1 - 0.1 * (-1 + 0.9 * m2)
  at::Tensor w = at::tensor({2.0F}).requires_grad_();
  Optimizer optimizer({w}, {.name = OptimizerKind::kSgd, .momentum = 0.9, .nesterov = true});
  w.mutable_grad() = at::tensor({0.5F});
  optimizer.Step(0.1);
  EXPECT_NEAR(w.item<float>(), 1.905, 1e-6);
  w.mutable_grad() = at::tensor({-1.0F});
  optimizer.Step(0.1);
  EXPECT_NEAR(w.item<float>(), 1.905 - 0.1 * (-1 + 0.9 * (0.45 - 1)), 1e-6);
}

TEST(Optimizer, SgdWithoutMomentumFollowsTheGradient) {
  at::Tensor w = at::tensor({2.0F}).requires_grad_();
  Optimizer optimizer({w}, {.name = OptimizerKind::kSgd, .momentum = 0});
  for (int i = 0; i < 2; ++i) {
    w.mutable_grad() = at::tensor({0.5F});
    optimizer.Step(0.1);
  }
  EXPECT_NEAR(w.item<float>(), 1.9, 1e-6);
}

TEST(Optimizer, OrthogonalisedMatricesHaveSingularValuesNearOne) {
  for (const auto& [rows, columns] : {std::pair{8, 8}, {20, 8}, {8, 20}}) {
    at::Tensor matrix = at::randn({rows, columns});
    if (rows == columns) matrix += 4 * at::eye(rows);  // no singular value near 0
    const at::Tensor result = Orthogonalised(1e-3 * matrix);
    EXPECT_EQ(result.sizes(), matrix.sizes());
    const at::Tensor values = at::linalg_svdvals(result);
    EXPECT_GT(values.min().item<float>(), 0.5) << rows << " x " << columns;
    EXPECT_LT(values.max().item<float>(), 1.3) << rows << " x " << columns;
  }
  EXPECT_TRUE(at::equal(Orthogonalised(at::zeros({3, 3})), at::zeros({3, 3})));
}

TEST(Optimizer, MuonOrthogonalisesOnlyTheHiddenMatrices) {
  // Gradients of any size lead to the same step: of muon_learning_rate in all singular directions
  // of a hidden matrix, and of the learning rate for each element of other parameters.
  std::vector<at::Tensor> parameters;
  for (const auto& sizes : {std::vector<std::int64_t>{4, 3}, {4}, {4, 4}, {4}, {1, 4}, {1}}) {
    parameters.push_back(at::zeros(sizes).requires_grad_());
  }
  Optimizer optimizer(parameters, {.name = OptimizerKind::kMuon,
                                   .learning_rate = 0.01,
                                   .muon_learning_rate = 0.5,
                                   .epsilon = 0});
  for (at::Tensor& parameter : parameters) {
    parameter.mutable_grad() = 1e3 * at::ones_like(parameter);
  }
  parameters[2].mutable_grad() = 1e3 * at::eye(4);
  optimizer.Step(0.005);  // half of the schedule's rate, so half of Muon's
  const c10::NoGradGuard no_grad;
  EXPECT_TRUE(at::allclose(at::linalg_svdvals(parameters[2]), at::full({4}, 0.25), 0.3, 0));
  EXPECT_LT(parameters[2][0][0].item<float>(), 0);
  for (const int i : {0, 1, 3, 4, 5}) {
    EXPECT_TRUE(at::allclose(parameters[i], at::full_like(parameters[i], -0.005))) << i;
  }
  std::vector<std::string> names;
  for (const auto& [name, tensor] : optimizer.State({"a", "b", "c", "d", "e", "f"})) {
    if (name.ends_with("c") || name == "steps") names.push_back(name);
  }
  EXPECT_EQ(names, (std::vector<std::string>{"steps", "momentum.c"}));
}

// The parameters of a network of three layers with a normalisation after the first two.
std::vector<at::Tensor> ThreeLayers(float value) {
  std::vector<at::Tensor> parameters;
  for (const auto& sizes : std::vector<std::vector<std::int64_t>>{
           {4, 3}, {4}, {4}, {4}, {4, 4}, {4}, {4}, {4}, {1, 4}, {1}}) {
    parameters.push_back(at::full(sizes, value).requires_grad_());
  }
  return parameters;
}

TEST(Optimizer, EachLayerMovesByItsFactorOfTheLearningRate) {
  // The first step of Adam, and of SGD with gradient 1, is the learning rate.
  for (const OptimizerKind kind :
       {OptimizerKind::kAdam, OptimizerKind::kAdamW, OptimizerKind::kSgd}) {
    std::vector<at::Tensor> parameters = ThreeLayers(0);
    Optimizer optimizer(
        parameters,
        {.name = kind, .first_layer_lr_factor = 3, .output_layer_lr_factor = 0.5, .epsilon = 0});
    for (at::Tensor& parameter : parameters) parameter.mutable_grad() = at::ones_like(parameter);
    optimizer.Step(0.1);
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      const double factor = i < 4 ? 3 : i < 8 ? 1 : 0.5;
      EXPECT_TRUE(at::allclose(parameters[i], at::full_like(parameters[i], -0.1 * factor))) << i;
    }
  }
}

TEST(Optimizer, EachParameterDecaysByItsFactorOfTheWeightDecay) {
  // Without a gradient, AdamW and SGD multiply each parameter by 1 - rate * decay.
  for (const OptimizerKind kind : {OptimizerKind::kAdamW, OptimizerKind::kSgd}) {
    std::vector<at::Tensor> parameters = ThreeLayers(1);
    Optimizer optimizer(parameters, {.name = kind,
                                     .weight_decay = 0.1,
                                     .first_layer_lr_factor = 2,
                                     .first_layer_weight_decay_factor = 3,
                                     .output_layer_weight_decay_factor = 0.5,
                                     .bias_weight_decay_factor = 0});
    for (at::Tensor& parameter : parameters) parameter.mutable_grad() = at::zeros_like(parameter);
    optimizer.Step(0.1);
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      const double decay = i == 0 ? 0.2 * 0.3 : i == 4 ? 0.1 * 0.1 : i == 8 ? 0.1 * 0.05 : 0;
      EXPECT_TRUE(at::allclose(parameters[i], at::full_like(parameters[i], 1 - decay))) << i;
    }
  }
}

TEST(Optimizer, MuonScalesOnlyTheLayersThatAdamWUpdates) {
  const auto after_one_step = [](double first, double output) {
    std::vector<at::Tensor> parameters = ThreeLayers(0);
    Optimizer optimizer(parameters, {.name = OptimizerKind::kMuon,
                                     .learning_rate = 0.1,
                                     .first_layer_lr_factor = first,
                                     .output_layer_lr_factor = output});
    for (at::Tensor& parameter : parameters) parameter.mutable_grad() = at::ones_like(parameter);
    optimizer.Step(0.1);
    return parameters;
  };
  const std::vector<at::Tensor> plain = after_one_step(1, 1);
  const std::vector<at::Tensor> scaled = after_one_step(3, 0.5);
  for (std::size_t i = 0; i < plain.size(); ++i) {
    const double factor = i < 4 ? 3 : i < 8 ? 1 : 0.5;
    EXPECT_TRUE(at::allclose(scaled[i], plain[i] * factor)) << i;
    EXPECT_GT(plain[i].abs().min().item<float>(), 0) << i;
  }
}

TEST(Optimizer, StateHasEveryParameterOnceHoweverManyGroupsThereAre) {
  const std::vector<std::string> names = {"a", "b", "c", "d", "e", "f", "g", "h", "i", "j"};
  const auto names_of = [&](const OptimizerConfig& config) {
    std::vector<std::string> found;
    for (const auto& [name, tensor] : Optimizer(ThreeLayers(0), config).State(names)) {
      found.push_back(name);
    }
    std::ranges::sort(found);
    return found;
  };
  const std::vector<std::string> plain = names_of({});
  EXPECT_EQ(plain.size(), 1 + 2 * names.size());
  EXPECT_EQ(names_of({.weight_decay = 0.1,
                      .first_layer_lr_factor = 2,
                      .output_layer_lr_factor = 3,
                      .bias_weight_decay_factor = 0}),
            plain);
}

TEST(Optimizer, RejectsAParameterWithoutAGradient) {
  at::Tensor w = at::tensor({2.0F}).requires_grad_();
  Optimizer optimizer({w}, {});
  EXPECT_THROW(optimizer.Step(0.1), Error);
}

TEST(Optimizer, ClipsOnlyGradientsAboveTheMaximumNorm) {
  // Two parameters with the gradient (3, 4), of length 5, or a tenth of it. With beta1 0 and a huge
  // epsilon, Adam's step is the gradient times rate / epsilon.
  const auto steps_of = [](float scale) {
    at::Tensor a = at::tensor({0.0F}).requires_grad_(), b = at::tensor({0.0F}).requires_grad_();
    Optimizer optimizer(
        {a, b},
        {.name = OptimizerKind::kAdam, .max_grad_norm = 1, .beta1 = 0, .beta2 = 0, .epsilon = 1e6});
    a.mutable_grad() = at::tensor({3 * scale});
    b.mutable_grad() = at::tensor({4 * scale});
    optimizer.Step(1e6);
    return std::pair(a.item<float>(), b.item<float>());
  };
  EXPECT_NEAR(steps_of(1).first, -0.6, 1e-5);
  EXPECT_NEAR(steps_of(1).second, -0.8, 1e-5);
  EXPECT_NEAR(steps_of(0.1F).first, -0.3, 1e-5);
  EXPECT_NEAR(steps_of(0.1F).second, -0.4, 1e-5);
}

TEST(LearningRate, WarmsUpLinearly) {
  const OptimizerConfig config{.learning_rate = 0.1, .warmup_iterations = 3};
  EXPECT_DOUBLE_EQ(LearningRate(config, {.iteration = 0}), 0.025);
  EXPECT_DOUBLE_EQ(LearningRate(config, {.iteration = 2, .done = 0.5}), 0.075);
  EXPECT_DOUBLE_EQ(LearningRate(config, {.iteration = 3, .done = 0.75}), 0.1);
}

TEST(LearningRate, FollowsItsSchedule) {
  const auto rate = [](Schedule schedule, std::int64_t iteration) {
    return LearningRate(
        {.learning_rate = 0.1, .schedule = schedule, .final_learning_rate = 0.02, .decay = 0.5},
        {.iteration = iteration, .done = static_cast<double>(iteration) / 4});
  };
  EXPECT_EQ(rate(Schedule::kConstant, 4), 0.1);
  EXPECT_DOUBLE_EQ(rate(Schedule::kLinear, 0), 0.1);
  EXPECT_DOUBLE_EQ(rate(Schedule::kLinear, 2), 0.06);
  EXPECT_DOUBLE_EQ(rate(Schedule::kLinear, 4), 0.02);
  EXPECT_DOUBLE_EQ(rate(Schedule::kCosine, 0), 0.1);
  EXPECT_DOUBLE_EQ(rate(Schedule::kCosine, 1), 0.02 + 0.08 * (1 + std::sqrt(0.5)) / 2);
  EXPECT_DOUBLE_EQ(rate(Schedule::kCosine, 2), 0.06);
  EXPECT_DOUBLE_EQ(rate(Schedule::kCosine, 4), 0.02);
  EXPECT_DOUBLE_EQ(rate(Schedule::kExponential, 3), 0.0125);
}

TEST(LearningRate, StepMultipliesEveryFewUpdates) {
  const OptimizerConfig config{
      .learning_rate = 0.1, .schedule = Schedule::kStep, .step_every = 3, .step_factor = 0.5};
  const auto rate = [&](std::int64_t update) {
    return LearningRate(config, {.iteration = 100 * update, .update = update});
  };
  EXPECT_DOUBLE_EQ(rate(2), 0.1);
  EXPECT_DOUBLE_EQ(rate(3), 0.05);
  EXPECT_DOUBLE_EQ(rate(6), 0.025);
}

TEST(LearningRate, WsdDecreasesOnlyInTheLastShareOfTheRun) {
  const OptimizerConfig config{.learning_rate = 0.1,
                               .schedule = Schedule::kWsd,
                               .final_learning_rate = 0.02,
                               .decay_share = 0.25};
  const auto rate = [&](double done) { return LearningRate(config, {.done = done}); };
  EXPECT_DOUBLE_EQ(rate(0), 0.1);
  EXPECT_DOUBLE_EQ(rate(0.75), 0.1);
  EXPECT_DOUBLE_EQ(rate(0.875), 0.06);
  EXPECT_DOUBLE_EQ(rate(1), 0.02);
}

TEST(WeightAverage, FollowsTheWeightsWithTheGivenDecay) {
  for (const Norm norm : {Norm::kNone, Norm::kBatch}) {
    ResNetFC net(SmallSpec(norm), 1);
    const c10::NoGradGuard no_grad;
    const auto fill = [&](double value) {
      for (const auto& [name, tensor] : net.State()) tensor.fill_(value);
    };
    const auto expect = [](const WeightAverage& average, double value) {
      for (const auto& [name, tensor] : average.net().State()) {
        EXPECT_TRUE(at::allclose(tensor, at::full_like(tensor, value))) << name;
      }
    };
    fill(1);
    WeightAverage average(net, 0.75);
    expect(average, 1);
    fill(5);
    average.Add(net, 0);  // 1/10 of the old average at most
    expect(average, 0.1 * 1 + 0.9 * 5);
    average.Add(net, 1000);
    expect(average, 0.75 * 4.6 + 0.25 * 5);
  }
}

TEST(ScopedThreads, SetsTheNumberForTheCallingThreadOnly) {
  const int before = omp_get_max_threads();
  {
    const ScopedThreads threads(3);
    EXPECT_EQ(omp_get_max_threads(), 3);
    std::thread([] {
      const ScopedThreads other(5);
      EXPECT_EQ(omp_get_max_threads(), 5);
    }).join();
    EXPECT_EQ(omp_get_max_threads(), 3);
  }
  EXPECT_EQ(omp_get_max_threads(), before);
}

TEST(ScopedThreads, OverridesOpenMpSettingsThatStartFewerThreads) {
  std::thread([] {
    omp_set_dynamic(1);
    omp_set_max_active_levels(0);
    const ScopedThreads threads(2);
    EXPECT_EQ(omp_get_dynamic(), 0);
    EXPECT_GE(omp_get_max_active_levels(), 1);
    CompareWithReference([](const at::Tensor& x, const at::Tensor& w) { return at::linear(x, w); },
                         c10::kCPU, 2);
  }).join();
}

TEST(CheckProducts, AcceptsTheProductsOfThisMachine) {
  const auto device = OpenDevice("cpu");
  for (const int threads : {1, 2, 4}) CheckProducts(*device, threads);
}

TEST(CheckProducts, ErrorNamesTheTypeWhoseProductIsWrong) {
  for (const at::ScalarType wrong : {at::kFloat, at::kBFloat16}) {
    const auto half_done = [&](const at::Tensor& x, const at::Tensor& w) {
      at::Tensor product = at::linear(x, w);
      if (x.scalar_type() == wrong) product.narrow(0, 128, 128).zero_();
      return product;
    };
    try {
      CompareWithReference(half_done, c10::kCPU, 2);
      FAIL();
    } catch (const Error& error) {
      const std::string message = error.what();
      const std::string type = wrong == at::kFloat ? "in fp32" : "in bf16";
      EXPECT_NE(message.find("wrong on cpu with 2 CPU threads: a product " + type), message.npos)
          << message;
    }
  }
}

class TensorFile : public testing::Test {
 protected:
  static std::string ErrorOf(const std::function<void()>& action) {
    try {
      action();
    } catch (const InputError& error) {
      return error.what();
    }
    return "";
  }

  const TempFolder folder_;
  const std::filesystem::path path_ = folder_.path() / "net.pt";
};

TEST_F(TensorFile, WriteAndReadGiveTheSameWeights) {
  const ResNetFC net(SmallSpec(Norm::kBatch), 1);
  WriteTensorFile(path_, ToTensorDict(net.State()));
  ResNetFC other(SmallSpec(Norm::kBatch), 2);
  LoadStateDict(ReadTensorFile(path_), other.State(), "net.pt");
  EXPECT_EQ(WeightsSha256(other.State()), WeightsSha256(net.State()));
}

TEST_F(TensorFile, ErrorNamesTheTensorThatDoesNotFit) {
  const TensorDict small = ToTensorDict(ResNetFC(SmallSpec(Norm::kNone), 1).State());
  NetworkSpec wider = SmallSpec(Norm::kNone);
  wider.layers.width = 9;
  ResNetFC wide(wider, 1), normed(SmallSpec(Norm::kBatch), 1);
  EXPECT_EQ(
      ErrorOf([&] { LoadStateDict(small, wide.State(), "net.pt"); }),
      "net.pt: tensor 'hidden1.weight' is float32 of shape [8, 16], expected float32 of shape "
      "[9, 16]");
  EXPECT_EQ(ErrorOf([&] { LoadStateDict(small, normed.State(), "net.pt"); }),
            "net.pt: tensor 'hidden0.norm_weight' of shape [16] is missing");
}

TEST_F(TensorFile, ErrorNamesUnknownAndNonFiniteTensors) {
  ResNetFC net(SmallSpec(Norm::kNone), 1);
  TensorDict more = ToTensorDict(net.State());
  more.insert("surplus", at::zeros({1}));
  EXPECT_EQ(ErrorOf([&] { LoadStateDict(more, net.State(), "net.pt"); }),
            "net.pt: unknown tensor 'surplus'");
  TensorDict bad = ToTensorDict(net.State());
  bad.insert_or_assign("output.bias", at::tensor({std::nanf("")}));
  EXPECT_EQ(ErrorOf([&] { LoadStateDict(bad, net.State(), "net.pt"); }),
            "net.pt: tensor 'output.bias' contains values that are not finite");
}

TEST_F(TensorFile, ThrowsIfTheDiskIsFull) {
  std::filesystem::create_symlink("/dev/full", path_);
  EXPECT_THROW(WriteTensorFile(path_, ToTensorDict(ResNetFC(SmallSpec(Norm::kNone), 1).State())),
               Error);
}

TEST_F(TensorFile, ErrorNamesATruncatedOrForeignFile) {
  WriteTensorFile(path_, ToTensorDict(ResNetFC(SmallSpec(Norm::kNone), 1).State()));
  const std::string whole = ReadFile(path_);
  WriteFileAtomically(path_, std::string_view(whole).substr(0, whole.size() / 2));
  EXPECT_NE(ErrorOf([&] { ReadTensorFile(path_); }).find("net.pt: damaged tensor file"),
            std::string::npos);
  WriteFileAtomically(path_, "hello");
  EXPECT_NE(ErrorOf([&] { ReadTensorFile(path_); }).find("net.pt: not a tensor file"),
            std::string::npos);
  EXPECT_NE(ErrorOf([&] { ReadTensorFile(folder_.path() / "none.pt"); }).find("none.pt"),
            std::string::npos);
}

TEST_F(TensorFile, KeepsEveryKindOfEntry) {
  TensorDict inner = MakeTensorDict();
  inner.insert("loss", 1.5);
  inner.insert("view", at::arange(12, at::kLong).view({3, 4}).t());
  TensorDict dict = MakeTensorDict();
  dict.insert("large", std::int64_t{1} << 40);
  dict.insert("negative", std::int64_t{-3});
  dict.insert("text", "some text");
  dict.insert("flag", true);
  dict.insert("half", at::ones({2}, at::kBFloat16));
  dict.insert("none", at::empty({0, 3}));
  dict.insert("scalar", at::scalar_tensor(2.5));
  dict.insert("inner", inner);
  WriteTensorFile(path_, dict);
  const TensorDict read = ReadTensorFile(path_);
  EXPECT_EQ(read.at("large").toInt(), std::int64_t{1} << 40);
  EXPECT_EQ(read.at("negative").toInt(), -3);
  EXPECT_EQ(read.at("text").toStringRef(), "some text");
  EXPECT_TRUE(read.at("flag").toBool());
  EXPECT_TRUE(at::equal(read.at("half").toTensor(), dict.at("half").toTensor()));
  EXPECT_EQ(read.at("none").toTensor().sizes(), (std::vector<std::int64_t>{0, 3}));
  EXPECT_EQ(read.at("scalar").toTensor().item<float>(), 2.5F);
  const TensorDict read_inner = read.at("inner").toGenericDict();
  EXPECT_EQ(read_inner.at("loss").toDouble(), 1.5);
  EXPECT_TRUE(at::equal(read_inner.at("view").toTensor(), inner.at("view").toTensor()));
}

TEST_F(TensorFile, MayContainOneNetworkTwice) {
  const TensorDict net = ToTensorDict(ResNetFC(SmallSpec(Norm::kNone), 1).State());
  TensorDict dict = MakeTensorDict();
  for (const char* name : {"model", "resume", "target"}) dict.insert(name, net.copy());
  WriteTensorFile(path_, dict);
  ResNetFC read(SmallSpec(Norm::kNone), 2);
  EXPECT_NO_THROW(
      LoadStateDict(ReadTensorFile(path_).at("resume").toGenericDict(), read.State(), "net.pt"));
}

TEST_F(TensorFile, WritesATensorThatOccursTwiceOnce) {
  const auto size_with = [&](const at::Tensor& a, const at::Tensor& b) {
    TensorDict dict = MakeTensorDict();
    dict.insert("a", a);
    dict.insert("b", b);
    WriteTensorFile(path_, dict);
    const TensorDict read = ReadTensorFile(path_);
    EXPECT_TRUE(at::equal(read.at("a").toTensor(), a));
    EXPECT_TRUE(at::equal(read.at("b").toTensor(), b));
    return std::filesystem::file_size(path_);
  };
  const at::Tensor one = at::randn({64, 64});
  const std::uintmax_t different = size_with(one, at::randn({64, 64}));
  EXPECT_LE(size_with(one, one.detach()), different - one.nbytes());
  EXPECT_GE(size_with(one, one.t()), different - 256);
}

TEST_F(TensorFile, WritesOnlyTheElementsOfAView) {
  const at::Tensor large = at::randn({1000, 50});
  const StateDict views = {{"row", large[7]},
                           {"column", large.select(1, 3)},
                           {"block", large.slice(0, 10, 20)},
                           {"every_second", large.slice(1, 0, 50, 2)},
                           {"scalar", large[2][3]},
                           {"turned", at::arange(6, at::kLong).view({2, 3}).t()},
                           {"none", large.slice(0, 0, 0)}};
  const std::int64_t elements = 50 + 1000 + 500 + 25000 + 1 + 2 * 6;
  WriteTensorFile(path_, ToTensorDict(views));
  EXPECT_LT(std::filesystem::file_size(path_), static_cast<std::uintmax_t>(elements * 4 + 4000));
  const TensorDict read = ReadTensorFile(path_);
  StateDict back;
  for (const auto& [name, tensor] : views) back.emplace_back(name, read.at(name).toTensor());
  EXPECT_EQ(WeightsSha256(back), WeightsSha256(views));
}

// The hashes are computed while the file is written, with the order of its tensors or another one.
TEST_F(TensorFile, EntriesCanBeCompletedWithHashesOfItsTensors) {
  const StateDict state = {{"large", at::randn({700, 800})},
                           {"turned", at::randn({700, 800}).t()},
                           {"none", at::empty({0})},
                           {"small", at::randn({3})}};
  const std::vector<StateDict> hashed = {
      state, {state.rbegin(), state.rend()}, {{"other", at::randn({5, 4})}}, {}};
  TensorDict dict = ToTensorDict(state);
  dict.insert("hash", "");
  std::vector<std::string> sha256;
  WriteTensorFile(path_, dict, hashed,
                  [&](TensorDict& entries, const std::vector<std::string>& hashes) {
                    sha256 = hashes;
                    entries.insert_or_assign("hash", hashes[0]);
                  });
  ASSERT_EQ(sha256.size(), hashed.size());
  for (std::size_t i = 0; i < hashed.size(); ++i) EXPECT_EQ(sha256[i], WeightsSha256(hashed[i]));
  EXPECT_EQ(ReadTensorFile(path_).at("hash").toStringRef(), sha256[0]);
  EXPECT_EQ(dict.at("hash").toStringRef(), "");
}

TEST_F(TensorFile, FailureToCompleteLeavesTheFileAsItWas) {
  WriteFileAtomically(path_, "before");
  const TensorDict dict = ToTensorDict(ResNetFC(SmallSpec(Norm::kNone), 1).State());
  const auto fail = [](TensorDict&, const std::vector<std::string>&) { throw Error("no hash"); };
  EXPECT_THROW(WriteTensorFile(path_, dict, {}, fail), Error);
  EXPECT_EQ(ReadFile(path_), "before");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_.path()), {}), 1);
}

TEST_F(TensorFile, ErrorNamesTheFileWhicheverByteIsDamaged) {
  WriteTensorFile(path_, ToTensorDict(ResNetFC(SmallSpec(Norm::kNone), 1).State()));
  const std::string whole = ReadFile(path_);
  for (std::size_t i = 0; i < whole.size(); i += 1 + whole.size() / 200) {
    std::string changed = whole;
    changed[i] = static_cast<char>(changed[i] ^ 0x40);
    WriteFileAtomically(path_, changed);
    EXPECT_NE(ErrorOf([&] { ReadTensorFile(path_); }).find("net.pt: "), std::string::npos) << i;
  }
}

TEST_F(TensorFile, RejectsHostileContentsEvenIfTheHashMatches) {
  using namespace pickles;
  const auto error_of = [&](const std::string& value, const std::string& storage) {
    std::string file;
    HashedArchive archive([&](std::string_view bytes) { file += bytes; });
    archive.Add(Zip({{.name = "net/data.pkl", .content = Pickle(value)},
                     {.name = "net/data/0", .content = storage}}));
    archive.Finish();
    WriteFileAtomically(path_, file);
    return ErrorOf([&] { ReadTensorFile(path_); });
  };
  const auto error_of_tensor = [&](std::int64_t offset, std::int64_t size, std::int64_t stride,
                                   const std::string& storage) {
    return error_of(
        Dict({{"w", Tensor(Storage("FloatStorage", "0", 4), offset, {size}, {stride})}}), storage);
  };
  const std::string four(16, '\0');
  EXPECT_EQ(error_of_tensor(0, 4, 1, four), "");
  for (const std::string& error : {error_of_tensor(0, 4, 1, ""), error_of_tensor(0, 4, 1, "\1"),
                                   error_of_tensor(std::int64_t{1} << 30, 1, 1, four),
                                   error_of_tensor(std::int64_t{1} << 61, 1, 1, four),
                                   error_of_tensor(0, 2, std::int64_t{1} << 30, four),
                                   error_of(")" + std::string(3'000'000, '\x85'), four)}) {
    EXPECT_NE(error.find("net.pt: damaged tensor file: "), std::string::npos) << error;
  }
}

TEST_F(TensorFile, RejectsPipesAndSizesBeyondMemory) {
  ASSERT_EQ(::mkfifo(path_.c_str(), 0600), 0);
  EXPECT_NE(ErrorOf([&] { ReadTensorFile(path_); }).find("net.pt: it is a pipe"),
            std::string::npos);
  std::filesystem::remove(path_);
  WriteFileAtomically(path_, "PK\3\4");
  std::filesystem::resize_file(path_, std::uintmax_t{1} << 37);
  EXPECT_NE(
      ErrorOf([&] { ReadTensorFile(path_); }).find("net.pt: its size is 128.0 GiB, expected at"),
      std::string::npos);
}

// A file of a few bytes on disk must not take all memory.
TEST_F(TensorFile, RejectsFilesThatAreMostlyHoles) {
  WriteTensorFile(path_, ToTensorDict(ResNetFC(SmallSpec(Norm::kNone), 1).State()));
  std::filesystem::resize_file(path_, std::uintmax_t{1} << 28);
  if (OpenFile(path_).data_bytes() == OpenFile(path_).size()) {
    GTEST_SKIP() << "the file system does not say where holes are";
  }
  EXPECT_NE(ErrorOf([&] { ReadTensorFile(path_); }).find("256.0 MiB were written"),
            std::string::npos)
      << ErrorOf([&] { ReadTensorFile(path_); });
}

TEST(WeightsSha256, HashesTheDocumentedBytes) {
  // sha256 of "w\0float32\0[2]\0" and 1.0f, -2.0f in little-endian bytes, by Python's hashlib.
  const StateDict state = {{"w", at::tensor({1.0F, -2.0F})}};
  EXPECT_EQ(WeightsSha256(state),
            "3300c99aa355390afdd3458b9e8f70cc2271e12e23cd8fa0582f9a6ea6eaf6c9");
}

TEST(Device, RejectsUnknownDevices) {
  EXPECT_THROW(OpenDevice("gpu"), InputError);
  EXPECT_THROW(OpenDevice("cuda:x"), InputError);
  EXPECT_THROW(OpenDevice("cuda:-1"), InputError);
  EXPECT_THROW(OpenDevice("cuda:99"), InputError);  // with or without a driver
  EXPECT_EQ(OpenDevice("cpu")->description(), "cpu");
}

TEST(DeviceChoice, AcceptsEveryDeviceThatThisMachineHas) {
  const Gpus none{.missing = "there is no NVIDIA driver"};
  EXPECT_EQ(WhyNoDevice("auto", none), "");
  EXPECT_EQ(WhyNoDevice("cpu", none), "");
  EXPECT_EQ(WhyNoDevice("cuda", {.count = 1}), "");
  EXPECT_EQ(WhyNoDevice("cuda:1", {.count = 2}), "");
}

TEST(DeviceChoice, ErrorSaysWhyThereIsNoGpu) {
  EXPECT_EQ(WhyNoDevice("cuda", {.missing = "there is no NVIDIA driver"}),
            "`device: cuda`: there is no NVIDIA driver; use `device: cpu` or `device: auto`");
}

TEST(DeviceChoice, ErrorForAMissingGpuListsTheGpus) {
  EXPECT_EQ(WhyNoDevice("cuda:9", {.count = 1}),
            "`device: cuda:9`: this machine has only cpu, cuda:0");
  EXPECT_EQ(WhyNoDevice("cuda:9", {.count = 4}),
            "`device: cuda:9`: this machine has only cpu, cuda:0 to cuda:3");
}

TEST(DeviceChoice, ErrorForAnUnknownDeviceNameListsTheValidNames) {
  EXPECT_EQ(WhyNoDevice("gpu", {.count = 2}),
            "`device: gpu`: expected auto, cpu, cuda or cuda:N; this machine has cpu, cuda:0 to "
            "cuda:1");
  EXPECT_EQ(
      WhyNoDevice("cuda:x", {.missing = "the driver finds no GPU"}),
      "`device: cuda:x`: expected auto, cpu, cuda or cuda:N; this machine has cpu (the driver "
      "finds no GPU)");
}

}  // namespace
}  // namespace tandem
