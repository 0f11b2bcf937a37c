// Tests the kinds of networks that a config can name, and what all kinds have in common.
#include "nn/network.h"

#include <ATen/ops/allclose.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/eye.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <c10/core/GradMode.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "nn/backend.h"
#include "nn/inference_net.h"
#include "nn/optimizer.h"
#include "nn/reference_backend.h"
#include "nn/resnet_fc.h"
#include "nn/tensor_file.h"
#include "nn/threads.h"
#include "support/by_operators.h"
#include "support/counting_network.h"
#include "support/recorded_ops.h"
#include "support/recording_device.h"
#include "tandem/error.h"

namespace tandem {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::ThrowsMessage;

constexpr InputLayout kSmallInput{.positions = 6, .depth = 4};

at::Tensor RandomRows(std::int64_t n) {
  return at::randint(0, kSmallInput.depth, {n, kSmallInput.positions}, at::kByte);
}

NetworkSpec BoardSpec(Norm norm = Norm::kBatch) {
  return {.input = kSmallInput,
          .layers = {.kind = "resnet_2d", .width = 5, .blocks = 1, .channels = 8, .norm = norm},
          .outputs = 2,
          .board = BoardShape{.rows = 2, .columns = 3}};
}

// Hidden layers of 16, 8 and 8 units.
NetworkSpec MlpSpec(Norm norm = Norm::kBatch) {
  return {.input = kSmallInput,
          .layers = {.kind = "mlp", .stem_width = 16, .width = 8, .blocks = 1, .norm = norm},
          .outputs = 2};
}

DomainSpec Puzzle(std::optional<BoardShape> board) {
  return {.name = "puzzle",
          .state_size = kSmallInput.positions,
          .input = kSmallInput,
          .board = board,
          .action_names = {"l", "r"}};
}

// A network of one linear layer, as a program may register it.
class Linear final : public Network {
 public:
  Linear(const NetworkSpec& spec, std::uint64_t seed) : Network(spec) {
    layer_ = RegisterModule(
        "layer",
        std::make_shared<Dense>(LayerShape{
            .name = "layer", .in = spec.features(), .out = spec.outputs, .norm = Norm::kNone}));
    at::Generator generator = InitialWeights(seed);
    DrawWeights(layer_->weight, layer_->bias, spec.features(), generator);
  }

  at::Tensor Forward(const at::Tensor& features) override {
    const ScopedAutocast full_precision(features.device().type(), /*enabled=*/false);
    return (*layer_)(features.to(at::kFloat));
  }

 private:
  std::shared_ptr<Dense> layer_;
};

// A module with a tensor of each kind, and a part.
class WithPart final : public Module {
 public:
  WithPart() {
    part = RegisterModule("part", std::make_shared<Dense>(LayerShape{
                                      .name = "part", .in = 2, .out = 3, .norm = Norm::kBatch}));
    count = RegisterBuffer("count", at::zeros({1}));
    scale = RegisterParameter("scale", at::ones({1}));
  }

  void RegisterAgain(const std::string& name) { RegisterParameter(name, at::ones({1})); }

  std::shared_ptr<Dense> part;
  at::Tensor count, scale;
};

TEST(Module, ListsItsTensorsAsRegisteredAndThenThoseOfItsParts) {
  const WithPart module;
  std::vector<std::string> names;
  for (const auto& [name, tensor] : module.State()) names.push_back(name);
  EXPECT_EQ(names, (std::vector<std::string>{"count", "scale", "part.weight", "part.bias",
                                             "part.norm_weight", "part.norm_bias",
                                             "part.running_mean", "part.running_var"}));
  EXPECT_EQ(module.parameters().size(), 5U);
  EXPECT_EQ(module.buffers().size(), 3U);
  for (const auto& [name, tensor] : module.named_parameters()) {
    EXPECT_TRUE(tensor.requires_grad()) << name;
  }
  for (const at::Tensor& buffer : module.buffers()) EXPECT_FALSE(buffer.requires_grad());
}

TEST(Module, SharesWhatItRegisters) {
  const WithPart module;
  const StateDict parameters = module.named_parameters();
  EXPECT_TRUE(parameters.front().second.is_same(module.scale));
  EXPECT_TRUE(parameters.back().second.is_same(module.part->norm_bias));
  EXPECT_TRUE(module.buffers().front().is_same(module.count));
}

TEST(Module, TellsItsPartsToTrain) {
  WithPart module;
  EXPECT_TRUE(module.part->is_training());
  module.SetTraining(false);
  EXPECT_FALSE(module.is_training());
  EXPECT_FALSE(module.part->is_training());
}

TEST(Module, RefusesANameThatIsTaken) {
  WithPart module;
  for (const char* name : {"scale", "count", "part"}) {
    EXPECT_THROW(module.RegisterAgain(name), Error) << name;
  }
}

const NetworkKind kLinear{.make = [](const NetworkSpec& spec, std::uint64_t seed) {
  return std::make_unique<Linear>(spec, seed);
}};
TANDEM_REGISTER_NETWORK(linear_of_test, kLinear);

TEST(NetworkRegistry, RegisteredNetworkIsMadeAndEvaluatedByItsName) {
  const NetworkSpec spec = NetworkFor({.kind = "linear_of_test", .head = Head::kQ}, Puzzle({}));
  const auto net = MakeNetwork(spec, 1);
  EXPECT_EQ(net->NumParameters(), 2 * (24 + 1));
  const auto device = OpenDevice("cpu");
  InferenceNet copy(spec, ByOperators(8), *device);
  copy.Load(*net);
  const at::Tensor rows = RandomRows(20);
  const at::Tensor expected =
      net->Forward(OneHot(kSmallInput, at::kFloat, c10::kCPU)(rows)).detach();
  std::vector<float> values(40);
  copy.EvaluateActions(ConstRows(rows.const_data_ptr<std::uint8_t>(), 20, 6), values);
  EXPECT_TRUE(at::allclose(at::tensor(values).view({20, 2}), expected, 1e-5, 1e-6));
  EXPECT_EQ(copy.State().size(), 2);
}

// Estimates the sum of the bytes of a row, times a weight of 1.
class SumOfBytes final : public Network {
 public:
  SumOfBytes(const NetworkSpec& spec, std::uint64_t /*seed*/) : Network(spec) {
    weight_ = RegisterParameter("weight", at::ones({1}));
  }

  bool reads_bytes() const override { return true; }
  at::Tensor Forward(const at::Tensor& bytes) override {
    return bytes.to(at::kFloat).sum(1, /*keepdim=*/true) * weight_;
  }

 private:
  at::Tensor weight_;
};

const NetworkKind kSumOfBytes{
    .make = [](const NetworkSpec& spec,
               std::uint64_t seed) { return std::make_unique<SumOfBytes>(spec, seed); },
    .may_use_bf16 = false};
TANDEM_REGISTER_NETWORK(sum_of_bytes_of_test, kSumOfBytes);

TEST(NetworkRegistry, NetworkThatReadsBytesGetsThemInTrainingAndInference) {
  const NetworkSpec spec = NetworkFor({.kind = "sum_of_bytes_of_test"}, Puzzle({}));
  const auto net = MakeNetwork(spec, 1);
  const auto device = OpenDevice("cpu");
  InferenceNet copy(spec, ByOperators(8), *device);
  copy.Load(*net);
  const at::Tensor rows = RandomRows(20);
  const at::Tensor sums = rows.to(at::kFloat).sum(1);
  std::vector<float> values(20);
  copy.Evaluate(ConstRows(rows.const_data_ptr<std::uint8_t>(), 20, 6), values);
  EXPECT_TRUE(at::equal(at::tensor(values), sums));
  const auto step = MakeAutogradStep(*net, TrainingConfig(), c10::kCPU, /*gathers=*/false);
  const at::Tensor loss = step->SetGradients(rows, at::zeros({20, 1}), {});
  EXPECT_TRUE(at::allclose(loss, sums.square().mean()));
}

class FastInBf16 final : public RecordingDevice {
 public:
  bool has_fast_bf16() const override { return true; }
};

TEST(NetworkRegistry, AutoMeansFp32IfTheKindMayNotUseBf16) {
  const auto precision_of = [](const std::string& kind) {
    Config config;
    config.network.kind = kind;
    config.train.precision = Precision::kAuto;
    return WithBackends(config, FastInBf16()).train.precision;
  };
  EXPECT_EQ(precision_of("linear_of_test"), Precision::kBf16);
  EXPECT_EQ(precision_of("sum_of_bytes_of_test"), Precision::kFp32);
}

TEST(WeightAverage, CopiesWholeNumbers) {
  const auto net = MakeNetwork(NetworkFor({.kind = "counting_of_test"}, Puzzle({})), 1);
  WeightAverage average(*net, 0.9);
  const c10::NoGradGuard no_grad;
  for (const auto& [name, tensor] : net->State()) tensor.fill_(10);
  average.Add(*net, 0);
  const StateDict state = average.net().State();
  EXPECT_FLOAT_EQ(state[0].second[0][0].item<float>(), 9);  // 0.1 * 0 + 0.9 * 10
  EXPECT_EQ(state[1].second.item<std::int64_t>(), 10);
}

TEST(NetworkRegistry, UnknownNameErrorListsTheKnownNames) {
  EXPECT_THAT([] { NetworkFor({.kind = "tree"}, Puzzle({})); },
              ThrowsMessage<InputError>(
                  AllOf(HasSubstr("`network.kind: tree`"),
                        HasSubstr("resnet_fc, resnet_2d, mlp, counting_of_test, linear_of_test"))));
}

TEST(NetworkRegistry, EveryKindThatConfigsCanNameIsRegistered) {
  for (const NetworkKindRow& row : kNetworkKinds) {
    NetworkSpec spec = BoardSpec();
    spec.layers.kind = row.name;
    EXPECT_GT(MakeNetwork(spec, 1)->NumParameters(), 0) << row.name;
  }
}

TEST(NetworkRegistry, RejectsANameThatIsAlreadyRegistered) {
  EXPECT_THROW(RegisterNetwork("resnet_fc", kLinear), Error);
}

TEST(NetworkRegistry, RejectsAKindWithoutAFunction) {
  EXPECT_THAT([] { RegisterNetwork("without_make", {.make = nullptr}); },
              ThrowsMessage<Error>(HasSubstr("without `make`")));
}

const NetworkKind kNothing = {[](const NetworkSpec&, std::uint64_t) { return nullptr; }};
TANDEM_REGISTER_NETWORK(nothing_of_test, kNothing);

TEST(NetworkRegistry, NoNetworkIsAnError) {
  EXPECT_THAT([] { MakeNetwork(NetworkFor({.kind = "nothing_of_test"}, Puzzle({})), 1); },
              ThrowsMessage<Error>(HasSubstr("`make` returned null")));
}

// Estimates with one column for each output, and `kMore` more.
template <int kMore>
class OfAnotherWidth final : public Network {
 public:
  using Network::Network;

  at::Tensor Forward(const at::Tensor& features) override {
    return kMore < 0 ? at::Tensor() : at::zeros({features.size(0), spec().outputs + kMore});
  }
};

TEST(Network, OutputsOfAnotherShapeAreAnError) {
  const NetworkSpec spec{.input = kSmallInput, .layers = {.kind = "mine"}, .outputs = 1};
  const OneHot one_hot(kSmallInput, at::kFloat, c10::kCPU);
  const at::Tensor rows = at::zeros({4, kSmallInput.positions}, at::kByte);
  OfAnotherWidth<0> right(spec);
  EXPECT_EQ(ForwardChecked(right, one_hot, rows).size(1), 1);
  OfAnotherWidth<2> wide(spec);
  EXPECT_THAT(
      [&] { ForwardChecked(wide, one_hot, rows); },
      ThrowsMessage<Error>(HasSubstr(
          "network mine: Forward returned a tensor of shape (4, 3), expected shape (4, 1)")));
  OfAnotherWidth<-1> none(spec);
  EXPECT_THAT([&] { ForwardChecked(none, one_hot, rows); },
              ThrowsMessage<Error>(HasSubstr("Forward returned no tensor")));
}

TEST(ResNet2D, NeedsABoardOfAllPositions) {
  const NetworkConfig config{.kind = "resnet_2d", .norm = Norm::kBatch};
  EXPECT_THAT([&] { NetworkFor(config, Puzzle({})); },
              ThrowsMessage<InputError>(HasSubstr("needs a board")));
  DomainSpec more = Puzzle(BoardShape{.rows = 2, .columns = 3});
  EXPECT_EQ(NetworkFor(config, more).board->columns, 3);
  more.input.positions = 7;
  EXPECT_THAT([&] { NetworkFor(config, more); },
              ThrowsMessage<InputError>(HasSubstr("nothing but the cells")));
}

// The outputs of a network with one convolution whose only weight that is not 0 belongs to cells
// with value 1 at (row, column) of the kernel. Cell i adds 10^i.
float OutputOfOneWeight(std::int64_t row, std::int64_t column, const at::Tensor& board) {
  NetworkSpec spec = BoardSpec(Norm::kNone);
  spec.layers.channels = 1;
  spec.layers.blocks = 0;
  spec.layers.width = 6;
  spec.outputs = 1;
  const auto net = MakeNetwork(spec, 1);
  const c10::NoGradGuard no_grad;
  for (const at::Tensor& parameter : net->parameters()) parameter.zero_();
  for (auto& [name, tensor] : net->State()) {
    if (name == "conv0.weight") tensor[0][1][row][column] = 1;
    if (name == "hidden.weight") tensor.copy_(at::eye(6));
    if (name == "output.weight") tensor.copy_(at::tensor({1, 10, 100, 1000, 10000, 100000}));
  }
  return net->Forward(OneHot(kSmallInput, at::kFloat, c10::kCPU)(board)).item<float>();
}

TEST(ResNet2D, ConvolutionSeesTheNeighboursOnTheBoard) {
  const at::Tensor board = at::tensor({0, 1, 1,  //
                                       1, 3, 1},
                                      at::kByte)
                               .view({1, 6});
  EXPECT_EQ(OutputOfOneWeight(1, 1, board), 101'110);  // the cell itself
  EXPECT_EQ(OutputOfOneWeight(1, 2, board), 10'011);   // to the right, not in the next row
  EXPECT_EQ(OutputOfOneWeight(2, 1, board), 101);      // below
  EXPECT_EQ(OutputOfOneWeight(0, 0, board), 100'000);  // above on the left
}

TEST(ResNet2D, ParametersAreThoseCountedByHand) {
  EXPECT_EQ(MakeNetwork(BoardSpec(), 1)->NumParameters(),
            8 * (36 + 3) + 2 * 8 * (72 + 3) + 5 * (48 + 3) + 2 * (5 + 1));
}

TEST(ResNet2D, InitialWeightsDependOnTheSeedOnly) {
  const auto sha = [](std::uint64_t seed) {
    return WeightsSha256(MakeNetwork(BoardSpec(), seed)->State());
  };
  EXPECT_EQ(sha(1), sha(1));
  EXPECT_NE(sha(1), sha(2));
}

TEST(MLP, OutputsAreThoseOfPlainLayers) {
  const auto net = MakeNetwork(MlpSpec(Norm::kNone), 1);
  const StateDict state = net->State();
  ASSERT_EQ(state.size(), 8);
  at::Tensor x = OneHot(kSmallInput, at::kFloat, c10::kCPU)(RandomRows(9));
  const at::Tensor outputs = net->Forward(x);
  const std::vector<std::string> layers = {"hidden0", "hidden1", "hidden2", "output"};
  for (std::size_t i = 0; i < layers.size(); ++i) {
    EXPECT_EQ(state[2 * i].first, layers[i] + ".weight");
    x = at::linear(x, state[2 * i].second, state[2 * i + 1].second);
    if (layers[i] != "output") x = x.relu();
  }
  EXPECT_TRUE(at::allclose(outputs, x, 1e-5, 1e-6));
  EXPECT_GT(outputs.std().item<float>(), 1e-3F);
}

TEST(MLP, WithoutBlocksHasOneHiddenLayer) {
  NetworkSpec spec = MlpSpec(Norm::kNone);
  spec.layers.blocks = 0;
  spec.layers.stem_width = 0;
  EXPECT_EQ(MakeNetwork(spec, 1)->NumParameters(), 8 * (24 + 1) + 2 * (8 + 1));
}

TEST(MLP, ParametersAreThoseCountedByHand) {
  EXPECT_EQ(MakeNetwork(MlpSpec(), 1)->NumParameters(),
            16 * (24 + 3) + 8 * (16 + 3) + 8 * (8 + 3) + 2 * (8 + 1));
}

// A network whose batch normalisation has seen data.
std::unique_ptr<Network> NetworkTrainedALittle(const NetworkSpec& spec, bool bf16 = false) {
  auto net = MakeNetwork(spec, 3);
  const OneHot one_hot(kSmallInput, bf16 ? at::kBFloat16 : at::kFloat, c10::kCPU);
  Optimizer optimizer(net->parameters(), {});
  for (int i = 0; i < 20; ++i) {
    at::Tensor outputs;
    {
      const ScopedAutocast autocast(c10::kCPU, bf16);
      outputs = net->Forward(one_hot(RandomRows(32)));
    }
    (outputs - 4).square().mean().backward();
    optimizer.Step(0.01);
  }
  return net;
}

TEST(ResNet2D, InferenceCopyEqualsTheNetworkInEvalMode) {
  const auto device = OpenDevice("cpu");
  for (const Norm norm : {Norm::kNone, Norm::kBatch}) {
    const auto net = NetworkTrainedALittle(BoardSpec(norm));
    const at::Tensor rows = RandomRows(30);
    const at::Tensor features = OneHot(kSmallInput, at::kFloat, c10::kCPU)(rows);
    InferenceNet copy(net->spec(), ByOperators(16), *device);
    InferenceNet bf16(net->spec(), ByOperators(16, Precision::kBf16), *device);
    copy.Load(*net);
    bf16.Load(*net);
    net->SetTraining(false);
    const at::Tensor expected = net->Forward(features).detach();
    EXPECT_TRUE(at::allclose(copy.Forward(rows), expected, 1e-4, 1e-5));
    EXPECT_TRUE(at::allclose(bf16.Forward(rows), expected, 0.05, 0.05));
    EXPECT_FALSE(at::allclose(bf16.Forward(rows), expected, 1e-6, 1e-6));
    EXPECT_EQ(bf16.Forward(rows).scalar_type(), at::kFloat);
    EXPECT_GT(expected.std().item<float>(), 1e-3F);
    {
      const c10::NoGradGuard no_grad;
      for (at::Tensor& parameter : net->parameters()) parameter.mul_(2);
    }
    EXPECT_TRUE(at::allclose(copy.Forward(rows), expected, 1e-4, 1e-5));
  }
}

TEST(MLP, InferenceCopyEqualsTheNetworkInEvalMode) {
  const auto device = OpenDevice("cpu");
  for (const Norm norm : {Norm::kNone, Norm::kBatch, Norm::kLayer, Norm::kRms}) {
    const auto net = NetworkTrainedALittle(MlpSpec(norm));
    const at::Tensor rows = RandomRows(30);
    InferenceNet gathered(net->spec(), ByOperators(16), *device);
    InferenceNet bf16(net->spec(), ByOperators(16, Precision::kBf16), *device);
    const auto multiplied =
        MakeOperatorCopy(net->spec(), ByOperators(16), c10::kCPU, /*gathers=*/false);
    gathered.Load(*net);
    bf16.Load(*net);
    multiplied->Load(*net);
    net->SetTraining(false);
    const at::Tensor expected =
        net->Forward(OneHot(kSmallInput, at::kFloat, c10::kCPU)(rows)).detach();
    EXPECT_TRUE(at::allclose(gathered.Forward(rows), expected, 1e-4, 1e-5)) << NameOf(kNorms, norm);
    EXPECT_TRUE(at::allclose(multiplied->Forward(rows), expected, 1e-4, 1e-5))
        << NameOf(kNorms, norm);
    EXPECT_TRUE(at::allclose(bf16.Forward(rows), expected, 0.1, 0.1)) << NameOf(kNorms, norm);
    EXPECT_EQ(bf16.Forward(rows).scalar_type(), at::kFloat);
    EXPECT_GT(expected.std().item<float>(), 1e-3F);
  }
}

TEST(ResNet2D, LearnsAConstantInBf16) {
  const auto net = NetworkTrainedALittle(BoardSpec(), /*bf16=*/true);
  const OneHot one_hot(kSmallInput, at::kFloat, c10::kCPU);
  const auto error = [&](Network& of) {
    of.SetTraining(false);
    return (of.Forward(one_hot(RandomRows(64))) - 4).square().mean().item<float>();
  };
  EXPECT_LT(error(*net), 0.9F * error(*MakeNetwork(BoardSpec(), 3)));
}

TEST(GatheredFeatures, AddsTheRowOfEachPosition) {
  const GatheredFeatures gathered({.positions = 2, .depth = 3}, c10::kCPU);
  const at::Tensor bytes = at::tensor({0, 2, 1, 0}, at::kByte).view({2, 2});
  const at::Tensor matrix =
      at::tensor({1.0F, 2.0F, 4.0F, 8.0F, 16.0F, 32.0F}).view({6, 1});  // features 0 to 5
  EXPECT_TRUE(at::equal(gathered(bytes, matrix), at::tensor({33.0F, 10.0F}).view({2, 1})));
}

TEST(ReferenceBackend, GathersTheFirstLayerOnACpuIfPositionsHaveManyValues) {
  const auto inference = [](int depth, c10::Device device = c10::kCPU) {
    return GathersInInference({.positions = 20, .depth = depth}, device);
  };
  EXPECT_FALSE(inference(3));
  EXPECT_TRUE(inference(4));
  EXPECT_FALSE(inference(4, c10::Device(c10::kCUDA, 0)));
  const auto training = [](int depth) {
    return GathersInTraining({.positions = 20, .depth = depth}, c10::kCPU);
  };
  EXPECT_FALSE(training(15));
  EXPECT_TRUE(training(16));
}

class GatheredFirstLayer : public testing::TestWithParam<Norm> {
 protected:
  static NetworkSpec Spec() {
    return {.input = kSmallInput,
            .layers = {.stem_width = 16, .width = 8, .blocks = 2, .norm = GetParam()},
            .outputs = 2};
  }

  static std::unique_ptr<NetworkCopy> Copy(const Network& net, bool gathers,
                                           Precision precision = Precision::kFp32) {
    auto copy = MakeOperatorCopy(Spec(), ByOperators(16, precision), c10::kCPU, gathers);
    copy->Load(net);
    return copy;
  }
};

TEST_P(GatheredFirstLayer, GivesTheEstimatesOfTheProductInInference) {
  const auto net = NetworkTrainedALittle(Spec());
  const at::Tensor rows = RandomRows(30);
  const at::Tensor expected = Copy(*net, /*gathers=*/false)->Forward(rows);
  const auto copy = Copy(*net, /*gathers=*/true);
  const RecordedOps ops;
  EXPECT_TRUE(at::allclose(copy->Forward(rows), expected, 1e-5, 1e-5));
  EXPECT_EQ(ops.Count("aten::embedding_bag"), 1);
  EXPECT_EQ(ops.Count("aten::embedding"), 0);
  EXPECT_TRUE(at::allclose(Copy(*net, /*gathers=*/true, Precision::kBf16)->Forward(rows), expected,
                           0.05, 0.05));
}

TEST_P(GatheredFirstLayer, KeepsTheNamesAndShapesOfTheWeights) {
  const auto net = NetworkTrainedALittle(Spec());
  const StateDict product = Copy(*net, /*gathers=*/false)->State();
  const StateDict gathered = Copy(*net, /*gathers=*/true)->State();
  ASSERT_EQ(product.size(), gathered.size());
  for (std::size_t i = 0; i < product.size(); ++i) {
    EXPECT_EQ(product[i].first, gathered[i].first);
    EXPECT_TRUE(at::equal(product[i].second, gathered[i].second)) << product[i].first;
  }
}

// Without a check, a byte `depth` would be gathered as value 0 of the next position.
TEST_P(GatheredFirstLayer, AByteThatIsNoValueIsAnErrorInInference) {
  const auto net = NetworkTrainedALittle(Spec());
  const at::Tensor rows = RandomRows(30);
  rows[29][1] = kSmallInput.depth;
  for (const bool gathers : {false, true}) {
    EXPECT_THROW(Copy(*net, gathers)->Forward(rows), Error);
  }
}

TEST_P(GatheredFirstLayer, AByteThatIsNoValueIsAnErrorInTraining) {
  ResNetFC net(Spec(), 1);
  const at::Tensor rows = RandomRows(30);
  rows[29][1] = kSmallInput.depth;
  for (const bool gathers : {false, true}) {
    const auto step = MakeAutogradStep(net, {}, c10::kCPU, gathers);
    EXPECT_THROW(step->SetGradients(rows, at::zeros({30, 2}), /*weights=*/{}), Error);
  }
}

// The outputs of a network in training, and the gradients of their squares' mean.
std::pair<at::Tensor, std::vector<at::Tensor>> OutputsAndGradients(Network& net,
                                                                   const at::Tensor& outputs) {
  outputs.square().mean().backward();
  std::vector<at::Tensor> gradients;
  for (const at::Tensor& parameter : net.parameters()) {
    gradients.push_back(parameter.grad().clone());
    parameter.mutable_grad().reset();
  }
  return {outputs.detach(), gradients};
}

TEST_P(GatheredFirstLayer, GivesTheOutputsAndGradientsOfTheProductInTraining) {
  ResNetFC net(Spec(), 1);
  const at::Tensor rows = RandomRows(30);
  const auto [outputs, gradients] =
      OutputsAndGradients(net, net.Forward(OneHot(kSmallInput, at::kFloat, c10::kCPU)(rows)));
  const auto [gathered, gathered_gradients] =
      OutputsAndGradients(net, net.ForwardGathered(rows, GatheredFeatures(kSmallInput, c10::kCPU)));
  EXPECT_TRUE(at::allclose(gathered, outputs, 1e-4, 1e-5));
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    EXPECT_TRUE(at::allclose(gathered_gradients[i], gradients[i], 1e-3, 1e-5)) << i;
    EXPECT_EQ(gathered_gradients[i].sizes(), gradients[i].sizes());
  }
}

TEST_P(GatheredFirstLayer, HiddenLayersStayInBf16UnderAutocast) {
  ResNetFC net(Spec(), 1);
  const at::Tensor rows = RandomRows(30);
  const at::Tensor expected = net.Forward(OneHot(kSmallInput, at::kFloat, c10::kCPU)(rows));
  const RecordedOps ops([](const at::RecordFunction& op) {
    if (std::string(op.name()) != "aten::relu") return std::string();
    return std::string(c10::toString(op.inputs()[0].toTensor().scalar_type()));
  });
  at::Tensor outputs;
  {
    const ScopedAutocast autocast(c10::kCPU, /*enabled=*/true);
    outputs = net.ForwardGathered(rows, GatheredFeatures(kSmallInput, c10::kCPU));
  }
  EXPECT_EQ(ops.Count("BFloat16"), 2 + 2 * 2);
  EXPECT_EQ(ops.Count("Float"), 0);
  EXPECT_EQ(outputs.scalar_type(), at::kFloat);
  EXPECT_TRUE(at::allclose(outputs, expected, 0.05, 0.05));
}

INSTANTIATE_TEST_SUITE_P(AllNorms, GatheredFirstLayer,
                         testing::Values(Norm::kNone, Norm::kBatch, Norm::kLayer, Norm::kRms));

}  // namespace
}  // namespace tandem
