// Networks in DeepXube's form. Its forward pass is written again here, from its resnet_fc.
#include "nn/deepxube_weights.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/allclose.h>
#include <ATen/ops/batch_norm.h>
#include <ATen/ops/group_norm.h>
#include <ATen/ops/linalg_vector_norm.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/rand_like.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn_like.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <c10/core/GradMode.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "apps/torch/deepxube_puzzle.h"
#include "base/random.h"
#include "domain/random_walk.h"
#include "domains/cube/notations.h"
#include "nn/inference_net.h"
#include "nn/network_weights.h"
#include "support/by_operators.h"
#include "support/temp_folder.h"
#include "tandem/error.h"
#include "tandem/registry.h"
#include "tandem/state_text.h"

namespace tandem {
namespace {

constexpr std::int64_t kRows = 40;
constexpr std::int64_t kActions = 4;

// Tandem's input: 5 positions of depth 3. DeepXube's, here: the same features in another order.
DeepXubePuzzle ShuffledPuzzle() {
  return {.domain = "shuffled",
          .features = {4, 3, 5, 13, 14, 12, 0, 2, 1, 8, 6, 7, 10, 9, 11},
          .actions = {2, 0, 3, 1}};
}

NetworkSpec SpecOf(Norm norm, InputLayer input_layer, Head head) {
  return {
      .input = {.positions = 5, .depth = 3},
      .layers = {.head = head, .width = 8, .blocks = 2, .norm = norm, .input_layer = input_layer},
      .outputs = head == Head::kV ? 1 : kActions};
}

// A network in which no part is neutral: the normalisation has weights and statistics.
std::unique_ptr<ResNetFC> RandomNet(const NetworkSpec& spec) {
  const c10::NoGradGuard no_grad;
  auto net = std::make_unique<ResNetFC>(spec, 5);
  for (const auto& [name, tensor] : net->State()) {
    if (name.find("norm") != std::string::npos || name.ends_with("mean")) {
      tensor.add_(at::randn_like(tensor), 0.3);
    }
    if (name.ends_with("var")) tensor.add_(at::rand_like(tensor));
  }
  net->SetTraining(false);
  return net;
}

at::Tensor RandomBytes(const NetworkSpec& spec) {
  return at::randint(0, spec.input.depth, {kRows, spec.input.positions}, at::kByte);
}

at::Tensor OneHotOf(const NetworkSpec& spec, const at::Tensor& bytes) {
  return OneHot(spec.input, at::kFloat, c10::kCPU)(bytes);
}

std::map<std::string, at::Tensor> ByName(const StateDict& state) {
  return {state.begin(), state.end()};
}

// DeepXube's resnet_fc (heuristics/resnet_fc.py, nnet/pytorch_models.py of version 0.3.2).
at::Tensor TheirForward(const StateDict& state, at::Tensor x) {
  const c10::NoGradGuard no_grad;
  const auto tensors = ByName(state);
  const auto linear = [&](const std::string& layer, const at::Tensor& input) {
    return at::linear(input, tensors.at(layer + ".weight"), tensors.at(layer + ".bias"));
  };
  const auto normalised = [&](const std::string& norm, const at::Tensor& input) {
    if (!tensors.contains(norm + ".weight")) return input;
    const at::Tensor& weight = tensors.at(norm + ".weight");
    const at::Tensor& bias = tensors.at(norm + ".bias");
    if (!tensors.contains(norm + ".running_mean")) {
      return at::group_norm(input, 1, weight, bias, 1e-5);
    }
    return at::batch_norm(input, weight, bias, tensors.at(norm + ".running_mean"),
                          tensors.at(norm + ".running_var"), /*training=*/false, 0.1, 1e-5,
                          /*cudnn_enabled=*/false);
  };
  x = linear("heur.0", x);
  for (int block = 0;; ++block) {
    const std::string layers = "heur.1.blocks." + std::to_string(block) + ".0.layers.";
    if (!tensors.contains(layers + "0.0.weight")) break;
    const at::Tensor inner = normalised(layers + "0.1", linear(layers + "0.0", x)).relu();
    x = (normalised(layers + "1.1", linear(layers + "1.0", inner)) + x).relu();
  }
  return linear("heur.2", x);
}

at::Tensor Columns(const at::Tensor& x, const std::vector<std::int64_t>& numbers) {
  return x.index_select(1, at::tensor(numbers, at::kLong));
}

void ExpectEqual(const at::Tensor& a, const at::Tensor& b) {
  EXPECT_TRUE(at::allclose(a, b, 1e-5, 1e-5)) << (a - b).abs().max().item<float>();
}

// Loads weights that were read into a network, as tandem import does.
std::unique_ptr<ResNetFC> Load(const NetworkWeights& read, const NetworkSpec& like) {
  NetworkSpec spec = like;
  spec.layers = read.layers;
  auto net = std::make_unique<ResNetFC>(spec, 0);
  LoadStateDict(ToTensorDict(read.state), net->State(), "file");
  net->SetTraining(false);
  return net;
}

std::vector<std::pair<Norm, InputLayer>> NetworksOfDeepXube() {
  return {{Norm::kNone, InputLayer::kHidden},
          {Norm::kBatch, InputLayer::kHidden},
          {Norm::kNone, InputLayer::kLinear},
          {Norm::kBatch, InputLayer::kLinear},
          {Norm::kLayer, InputLayer::kLinear}};
}

TEST(ToDeepXube, ItsForwardPassGivesTheSameOutputs) {
  const DeepXubePuzzle puzzle = ShuffledPuzzle();
  for (const auto& [norm, input_layer] : NetworksOfDeepXube()) {
    for (const Head head : {Head::kV, Head::kQ}) {
      const NetworkSpec spec = SpecOf(norm, input_layer, head);
      const std::unique_ptr<ResNetFC> net = RandomNet(spec);
      const at::Tensor features = OneHotOf(spec, RandomBytes(spec));
      const DeepXubeNetwork theirs = ToDeepXube(net->State(), spec, puzzle);
      const c10::NoGradGuard no_grad;
      const at::Tensor expected = net->Forward(features);
      ExpectEqual(TheirForward(theirs.state, Columns(features, puzzle.features)),
                  head == Head::kQ ? Columns(expected, puzzle.actions) : expected);
    }
  }
}

TEST(ToDeepXube, NamesTheNetworkWithTheBlockThatAppliesTheActivation) {
  const auto name = [](Norm norm, InputLayer input_layer) {
    const NetworkSpec spec = SpecOf(norm, input_layer, Head::kV);
    return ToDeepXube(RandomNet(spec)->State(), spec, ShuffledPuzzle()).name;
  };
  EXPECT_EQ(name(Norm::kBatch, InputLayer::kHidden), "resnet_fc.8H_3B_bn");
  EXPECT_EQ(name(Norm::kBatch, InputLayer::kLinear), "resnet_fc.8H_2B_bn");
  EXPECT_EQ(name(Norm::kLayer, InputLayer::kLinear), "resnet_fc.8H_2B_ln");
  EXPECT_EQ(name(Norm::kNone, InputLayer::kHidden), "resnet_fc.8H_3B");
}

TEST(ToDeepXube, RawInputOfTwoValuesTakesHalfTheColumns) {
  NetworkSpec spec = SpecOf(Norm::kBatch, InputLayer::kHidden, Head::kV);
  spec.input = {.positions = 6, .depth = 2};
  const DeepXubePuzzle puzzle{.domain = "raw", .features = {}, .actions = {0, 1, 2, 3}};
  const std::unique_ptr<ResNetFC> net = RandomNet(spec);
  const at::Tensor bytes = RandomBytes(spec);
  const DeepXubeNetwork theirs = ToDeepXube(net->State(), spec, puzzle);
  const c10::NoGradGuard no_grad;
  const at::Tensor expected = net->Forward(OneHotOf(spec, bytes));
  ExpectEqual(TheirForward(theirs.state, bytes.to(at::kFloat)), expected);
  const NetworkWeights back = FromDeepXube(ToTensorDict(theirs.state), puzzle, spec.input);
  ExpectEqual(Load(back, spec)->Forward(OneHotOf(spec, bytes)), expected);
}

TEST(ToDeepXube, RefusesWhatDeepXubeLacks) {
  const auto error = [](const std::function<void(NetworkConfig&)>& change) -> std::string {
    NetworkSpec spec = SpecOf(Norm::kBatch, InputLayer::kHidden, Head::kV);
    change(spec.layers);
    try {
      ToDeepXube(RandomNet(spec)->State(), spec, ShuffledPuzzle());
    } catch (const InputError& refusal) {
      const std::string what = refusal.what();
      return what.substr(0, what.find(':', what.find(':') + 1));
    }
    return "accepted";
  };
  EXPECT_EQ(error([](NetworkConfig&) {}), "accepted");
  EXPECT_EQ(error([](NetworkConfig& n) { n.norm = Norm::kLayer; }), "`network.norm: layer`");
  EXPECT_EQ(error([](NetworkConfig& n) { n.norm = Norm::kRms; }), "`network.norm: rms`");
  EXPECT_EQ(error([](NetworkConfig& n) { n.stem_width = 9; }), "`network.stem_width: 9`");
  EXPECT_EQ(error([](NetworkConfig& n) { n.activation = Activation::kLeakyRelu; }),
            "`network.activation: leaky_relu`");
  EXPECT_EQ(error([](NetworkConfig& n) { n.head = Head::kPolicy; }), "`network.head: policy`");
}

TEST(FromDeepXube, NetworkComesBackWithItsKeysAndOutputs) {
  const DeepXubePuzzle puzzle = ShuffledPuzzle();
  for (const auto& [norm, input_layer] : NetworksOfDeepXube()) {
    for (const Head head : {Head::kV, Head::kQ}) {
      const NetworkSpec spec = SpecOf(norm, input_layer, head);
      const std::unique_ptr<ResNetFC> net = RandomNet(spec);
      const DeepXubeNetwork theirs = ToDeepXube(net->State(), spec, puzzle);
      const NetworkWeights read = FromDeepXube(ToTensorDict(theirs.state), puzzle, spec.input);
      EXPECT_EQ(read.layers.norm, norm);
      EXPECT_EQ(read.layers.head, head);
      EXPECT_EQ(read.layers.input_layer, InputLayer::kLinear);
      EXPECT_EQ(read.layers.width, 8);
      EXPECT_EQ(read.layers.blocks, input_layer == InputLayer::kLinear ? 2 : 3);
      const at::Tensor features = OneHotOf(spec, RandomBytes(spec));
      const c10::NoGradGuard no_grad;
      ExpectEqual(Load(read, spec)->Forward(features), net->Forward(features));
    }
  }
}

TEST(FromDeepXube, WeightNormalisationBecomesPlainWeights) {
  const NetworkSpec spec = SpecOf(Norm::kNone, InputLayer::kLinear, Head::kV);
  const std::unique_ptr<ResNetFC> net = RandomNet(spec);
  TensorDict file = MakeTensorDict();
  for (const auto& [name, tensor] : ToDeepXube(net->State(), spec, ShuffledPuzzle()).state) {
    const bool in_block = name.find("layers") != std::string::npos;
    if (in_block && name.ends_with(".weight")) {
      const std::string parts =
          name.substr(0, name.size() - 6) + "parametrizations.weight.original";
      file.insert(parts + "0", at::linalg_vector_norm(tensor, 2, {1}, /*keepdim=*/true));
      file.insert(parts + "1", tensor * 3);
    } else {
      file.insert(name, tensor);
    }
  }
  const NetworkWeights read = FromDeepXube(file, ShuffledPuzzle(), spec.input);
  const at::Tensor features = OneHotOf(spec, RandomBytes(spec));
  const c10::NoGradGuard no_grad;
  ExpectEqual(Load(read, spec)->Forward(features), net->Forward(features));
}

TEST(FromDeepXube, ErrorsNameTheTensorThatDoesNotFit) {
  const NetworkSpec spec = SpecOf(Norm::kBatch, InputLayer::kLinear, Head::kQ);
  const StateDict theirs = ToDeepXube(RandomNet(spec)->State(), spec, ShuffledPuzzle()).state;
  const auto error = [&](const std::string& name, const at::Tensor& replacement) -> std::string {
    TensorDict file = ToTensorDict(theirs);
    if (replacement.defined()) {
      file.insert_or_assign(name, replacement);
    } else {
      static_cast<void>(file.erase(name));
    }
    try {
      FromDeepXube(file, ShuffledPuzzle(), spec.input);
    } catch (const InputError& refusal) {
      return refusal.what();
    }
    return "accepted";
  };
  const std::string layer = "heur.1.blocks.1.0.layers.1";
  EXPECT_EQ(error(layer + ".1.num_batches_tracked", {}), "accepted");
  EXPECT_EQ(error(layer + ".1.running_var", {}),
            "tensor '" + layer + ".1.running_var' is missing; other tensors found: heur.2.weight");
  EXPECT_EQ(error("heur.0.weight", at::zeros({8, 14})),
            "tensor 'heur.0.weight' has shape [8, 14], expected [8, 15]");
  EXPECT_EQ(error("heur.2.bias", at::zeros({3})),
            "the network has 3 outputs, expected 1 (V) or 4 (Q: the actions of shuffled)");
  EXPECT_EQ(error("heur.3.weight", at::zeros({1})),
            "unknown tensor 'heur.3.weight'; expected those of resnet_fc");
  EXPECT_EQ(error("heur.2.bias", at::zeros({4}, at::kLong)),
            "tensor 'heur.2.bias' is int64, expected floating-point numbers such as float32");
  EXPECT_EQ(error("module.heur.2.bias", at::zeros({4})),
            "tensor 'heur.2.bias' occurs twice, with the prefix 'module.' and without");
}

TEST(FromDeepXube, PrefixOfDataParallelIsIgnored) {
  const NetworkSpec spec = SpecOf(Norm::kNone, InputLayer::kLinear, Head::kV);
  TensorDict file = MakeTensorDict();
  for (const auto& [name, tensor] :
       ToDeepXube(RandomNet(spec)->State(), spec, ShuffledPuzzle()).state) {
    file.insert("module." + name, tensor);
  }
  EXPECT_TRUE(IsDeepXube(file));
  EXPECT_EQ(FromDeepXube(file, ShuffledPuzzle(), spec.input).layers.blocks, 2);
}

TEST(FromTandem, ReadsTheKeysThatTheWeightsShow) {
  for (const Norm norm : {Norm::kNone, Norm::kBatch, Norm::kLayer, Norm::kRms}) {
    for (const Head head : {Head::kV, Head::kQ, Head::kPolicy}) {
      for (const std::int64_t stem : {-1, 0, 16}) {  // -1: a linear input layer
        NetworkSpec spec = SpecOf(norm, stem < 0 ? InputLayer::kLinear : InputLayer::kHidden, head);
        spec.layers.stem_width = std::max<std::int64_t>(stem, 0);
        const std::unique_ptr<ResNetFC> net = RandomNet(spec);
        const TensorDict file = ToTensorDict(net->State());
        EXPECT_FALSE(IsDeepXube(file));
        const NetworkConfig asked{.head = head == Head::kPolicy ? head : Head::kV};
        const NetworkWeights read = FromTandem(file, asked);
        EXPECT_EQ(read.layers.head, head);
        EXPECT_EQ(read.layers.stem_width, spec.layers.stem_width);
        const at::Tensor features = OneHotOf(spec, RandomBytes(spec));
        const c10::NoGradGuard no_grad;
        ExpectEqual(Load(read, spec)->Forward(features), net->Forward(features));
      }
    }
  }
}

TEST(FromTandem, PrefixOfDataParallelIsIgnored) {
  const NetworkSpec spec = SpecOf(Norm::kBatch, InputLayer::kHidden, Head::kV);
  const std::unique_ptr<ResNetFC> net = RandomNet(spec);
  TensorDict file = MakeTensorDict();
  for (const auto& [name, tensor] : net->State()) file.insert("module." + name, tensor);
  const NetworkWeights read = FromTandem(file, {});
  EXPECT_EQ(read.layers.norm, Norm::kBatch);
  const at::Tensor features = OneHotOf(spec, RandomBytes(spec));
  const c10::NoGradGuard no_grad;
  ExpectEqual(Load(read, spec)->Forward(features), net->Forward(features));
}

TEST(FromTandem, LongBiasDoesNotMakeALargeNetwork) {
  const NetworkSpec spec = SpecOf(Norm::kNone, InputLayer::kHidden, Head::kV);
  TensorDict file = ToTensorDict(RandomNet(spec)->State());
  file.insert_or_assign("hidden0.bias", at::zeros({1 << 20}));
  try {
    FromTandem(file, {});
    FAIL() << "nothing was thrown";
  } catch (const InputError& error) {
    EXPECT_STREQ(error.what(),
                 "tensor 'block0_first.weight' has shape [8, 8], expected [1048576, 1048576]");
  }
}

TEST(FromTandem, LongBiasOfAnOnlyLayerDoesNotMakeALargeNetwork) {
  NetworkSpec spec = SpecOf(Norm::kNone, InputLayer::kHidden, Head::kV);
  spec.layers.blocks = 0;
  TensorDict file = ToTensorDict(RandomNet(spec)->State());
  file.insert_or_assign("hidden0.bias", at::zeros({1 << 20}));
  EXPECT_THROW(FromTandem(file, {}), InputError);
}

TEST(InputLayer, InferenceNetOfALinearOneGivesTheOutputsOfTraining) {
  const auto device = OpenDevice("cpu");
  for (const Norm norm : {Norm::kNone, Norm::kBatch, Norm::kLayer}) {
    const NetworkSpec spec = SpecOf(norm, InputLayer::kLinear, Head::kV);
    const std::unique_ptr<ResNetFC> net = RandomNet(spec);
    InferenceNet copy(spec, ByOperators(64), *device);
    copy.Load(*net);
    const at::Tensor bytes = RandomBytes(spec);
    const c10::NoGradGuard no_grad;
    ExpectEqual(copy.Forward(bytes), net->Forward(OneHotOf(spec, bytes)));
  }
}

TEST(InputLayer, WeightsOfOneKindDoNotLoadIntoTheOther) {
  ResNetFC linear(SpecOf(Norm::kNone, InputLayer::kLinear, Head::kV), 1);
  ResNetFC hidden(SpecOf(Norm::kNone, InputLayer::kHidden, Head::kV), 1);
  EXPECT_EQ(linear.NumParameters(), hidden.NumParameters());
  EXPECT_THROW(LoadStateDict(ToTensorDict(linear.State()), hidden.State(), "file"), InputError);
}

TEST(DeepXubePuzzle, FeaturesOfCube3AreThoseOfTandemConvert) {
  const auto cube = MakeDomain("cube3");
  const DeepXubePuzzle puzzle = DeepXubePuzzleFor(cube->spec());
  std::vector<std::uint8_t> state(54);
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    RandomWalk walk(*cube, Random(seed, Purpose::kScramble, 0, 0), state);
    for (int step = 0; step < 30; ++step) walk.Step();
    std::vector<std::uint8_t> theirs(54);  // their colours in their order
    ParseNumbers(cube::Rewrite(cube->FormatState(state), cube::Notation::kFacelets,
                               cube::Notation::kDeepXube),
                 6, theirs);
    for (std::size_t i = 0; i < puzzle.features.size(); ++i) {
      const auto ours = static_cast<std::size_t>(puzzle.features[i]);
      EXPECT_EQ(theirs[i / 6] == i % 6, state[ours / 6] == ours % 6) << i;
    }
  }
}

TEST(DeepXubePuzzle, ActionsOfCube3BeginWithTheTurnBack) {
  const auto cube = MakeDomain("cube3");
  const DeepXubePuzzle puzzle = DeepXubePuzzleFor(cube->spec());
  std::vector<std::string> names;
  for (const std::int64_t action : puzzle.actions) {
    names.push_back(cube->spec().action_names[static_cast<std::size_t>(action)]);
  }
  EXPECT_EQ(names, (std::vector<std::string>{"U'", "U", "D'", "D", "L'", "L", "R'", "R", "B'", "B",
                                             "F'", "F"}));
}

TEST(DeepXubePuzzle, OthersAreRefusedWithTheReason) {
  EXPECT_EQ(DeepXubePuzzleFor(MakeDomain("npuzzle:5")->spec()).domain, "npuzzle.5");
  EXPECT_EQ(DeepXubePuzzleFor(MakeDomain("lights_out:7")->spec()).domain, "lightsout.7");
  const auto error = [](const char* name) -> std::string {
    try {
      DeepXubePuzzleFor(MakeDomain(name)->spec());
    } catch (const InputError& refusal) {
      return refusal.what();
    }
    return "accepted";
  };
  EXPECT_NE(error("cube3:pieces").find("domain.input: stickers"), std::string::npos);
  EXPECT_NE(error("cube3_htm").find("quarter turns only"), std::string::npos);
  EXPECT_NE(error("sokoban:10").find("numbers of their own"), std::string::npos);
  EXPECT_NE(error("hanoi:4").find("no such puzzle"), std::string::npos);
}

TEST(Safetensors, FileOfANetworkIsReadBackAndDamageIsNamed) {
  const TempFolder folder;
  const std::filesystem::path path = folder.path() / "net.safetensors";
  const NetworkSpec spec = SpecOf(Norm::kBatch, InputLayer::kHidden, Head::kQ);
  const StateDict state = RandomNet(spec)->State();
  WriteSafetensors(path, state, {{"tandem.domain", "cube3"}});
  ResNetFC again(spec, 0);
  LoadStateDict(ReadWeights(path), again.State(), path.string());
  EXPECT_EQ(WeightsSha256(again.State()), WeightsSha256(state));
  std::filesystem::resize_file(path, std::filesystem::file_size(path) - 4);
  try {
    ReadWeights(path);
    FAIL() << "nothing was thrown";
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("net.safetensors"), std::string::npos);
  }
}

}  // namespace
}  // namespace tandem
