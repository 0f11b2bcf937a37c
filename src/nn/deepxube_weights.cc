#include "nn/deepxube_weights.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/linalg_vector_norm.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>
#include <c10/core/GradMode.h>
#include <fmt/format.h>

#include <utility>

#include "nn/named_tensors.h"
#include "tandem/error.h"

namespace tandem {
namespace {

constexpr const char* kFirst = "heur.0";
constexpr const char* kOutput = "heur.2";

// The linear layer `half` (0 or 1) of a block; its normalisation is module 1 of the same list.
std::string LayerName(std::int64_t block, int half) {
  return fmt::format("heur.1.blocks.{}.0.layers.{}", block, half);
}

at::Tensor Numbers(const std::vector<std::int64_t>& numbers) {
  return at::tensor(numbers, at::kLong);
}

// The permutation that undoes `numbers`.
at::Tensor Inverse(const std::vector<std::int64_t>& numbers) {
  std::vector<std::int64_t> inverse(numbers.size());
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    inverse[static_cast<std::size_t>(numbers[i])] = static_cast<std::int64_t>(i);
  }
  return Numbers(inverse);
}

// Throws InputError if DeepXube's resnet_fc cannot compute such a network.
void CheckDeepXubeHas(const NetworkConfig& network) {
  const auto refuse = [](const std::string& key_and_value, const char* why) {
    throw InputError(
        fmt::format("`{}`: {} Export in the format pytorch or safetensors, or train a network that "
                    "DeepXube has.",
                    key_and_value, why));
  };
  if (network.kind != kResNetFc) {
    refuse("network.kind: " + network.kind, "this converts networks to DeepXube's resnet_fc.");
  }
  if (network.head != Head::kV && network.head != Head::kQ) {
    refuse(fmt::format("network.head: {}", NameOf(kHeads, network.head)),
           "DeepXube's heuristics are V nets and Q nets with an output per action.");
  }
  if (network.stem_width > 0) {
    refuse(fmt::format("network.stem_width: {}", network.stem_width),
           "DeepXube's resnet_fc has one layer before its blocks.");
  }
  if (network.norm != Norm::kNone && network.norm != Norm::kBatch && network.norm != Norm::kLayer) {
    refuse(fmt::format("network.norm: {}", NameOf(kNorms, network.norm)),
           "DeepXube has no such normalisation.");
  }
  if (network.activation != Activation::kRelu) {
    refuse(fmt::format("network.activation: {}", NameOf(kActivations, network.activation)),
           "DeepXube's resnet_fc uses ReLU.");
  }
  if (network.norm == Norm::kLayer && network.input_layer == InputLayer::kHidden) {
    refuse("network.norm: layer",
           "DeepXube does not normalise its first layer, and layer normalisation cannot be folded "
           "into its weights. With network.input_layer linear, or network.norm batch or none, it "
           "could.");
  }
}

// Weight and bias in fp64, with batch normalisation folded into them.
DenseTensors Folded(NamedTensors& tensors, const std::string& name, Norm norm) {
  const auto take = [&](const char* part) { return tensors.Take(name + part).to(at::kDouble); };
  DenseTensors layer{.weight = take(".weight"), .bias = take(".bias")};
  if (norm != Norm::kBatch) return layer;
  layer.norm_weight = take(".norm_weight");
  layer.norm_bias = take(".norm_bias");
  return FoldBatchNorm(layer, take(".running_mean"), take(".running_var"));
}

void AddNorm(StateDict& to, const std::string& layer, Norm norm, NamedTensors* from,
             const std::string& name, std::int64_t width) {
  if (norm == Norm::kNone) return;
  const auto add = [&](const char* theirs, const char* ours, const at::Tensor& neutral) {
    to.emplace_back(layer + ".1." + theirs, from == nullptr ? neutral : from->Take(name + ours));
  };
  add("weight", ".norm_weight", at::ones({width}));
  add("bias", ".norm_bias", at::zeros({width}));
  if (norm != Norm::kBatch) return;
  add("running_mean", ".running_mean", at::zeros({width}));
  add("running_var", ".running_var", at::ones({width}));
  to.emplace_back(layer + ".1.num_batches_tracked",
                  at::zeros({}, at::TensorOptions().dtype(at::kLong)));
}

// Adds a block. If `from` is null, its layers are 0, so that it computes relu(x).
void AddBlock(StateDict& to, std::int64_t number, const NetworkConfig& network, NamedTensors* from,
              std::int64_t from_number) {
  for (const int half : {0, 1}) {
    const std::string layer = LayerName(number, half);
    const std::string name = BlockLayerName(from_number, half);
    const auto linear = [&](const char* part, const at::Tensor& neutral) {
      to.emplace_back(layer + ".0" + part, from == nullptr ? neutral : from->Take(name + part));
    };
    linear(".weight", at::zeros({network.width, network.width}));
    linear(".bias", at::zeros({network.width}));
    AddNorm(to, layer, network.norm, from, name, network.width);
  }
}

// Changes the first layer from Tandem's features to DeepXube's.
std::pair<at::Tensor, at::Tensor> ToTheirFeatures(const at::Tensor& weight, const at::Tensor& bias,
                                                  const DeepXubePuzzle& puzzle) {
  if (!puzzle.features.empty()) return {weight.index_select(1, Numbers(puzzle.features)), bias};
  // w0 (1 - x) + w1 x = w0 + (w1 - w0) x
  const at::Tensor by_value = weight.view({weight.size(0), -1, 2});
  const at::Tensor off = by_value.select(2, 0);
  return {by_value.select(2, 1) - off, bias + off.sum(1)};
}

at::Tensor FromTheirFeatures(const at::Tensor& weight, const DeepXubePuzzle& puzzle) {
  if (!puzzle.features.empty()) return weight.index_select(1, Inverse(puzzle.features));
  return at::stack({at::zeros_like(weight), weight}, 2).flatten(1);
}

// A weight matrix, or the product of the two parts that PyTorch's weight normalisation stores.
at::Tensor TakeWeight(NamedTensors& tensors, const std::string& layer, at::IntArrayRef sizes) {
  const std::string parts = layer + ".parametrizations.weight.original";
  if (!tensors.Has(parts + "0")) return tensors.Take(layer + ".weight", sizes);
  const at::Tensor length = tensors.Take(parts + "0", {sizes[0], 1});
  const at::Tensor direction = tensors.Take(parts + "1", sizes);
  return direction * (length / at::linalg_vector_norm(direction, 2, {1}, /*keepdim=*/true));
}

Norm NormOfTheirs(const NamedTensors& tensors) {
  const std::string norm = LayerName(0, 0) + ".1.";
  if (tensors.Has(norm + "running_mean")) return Norm::kBatch;
  return tensors.Has(norm + "weight") ? Norm::kLayer : Norm::kNone;
}

void TakeBlockLayer(NamedTensors& tensors, std::int64_t block, int half,
                    const NetworkConfig& network, StateDict& to) {
  const std::int64_t width = network.width;
  const std::string layer = LayerName(block, half);
  const std::string name = BlockLayerName(block, half);
  to.emplace_back(name + ".weight", TakeWeight(tensors, layer + ".0", {width, width}));
  to.emplace_back(name + ".bias", tensors.Take(layer + ".0.bias", {width}));
  const auto add = [&](const char* ours, const char* theirs) {
    to.emplace_back(name + ours, tensors.Take(layer + theirs, {width}));
  };
  if (network.norm == Norm::kNone) return;
  add(".norm_weight", ".1.weight");
  add(".norm_bias", ".1.bias");
  if (network.norm != Norm::kBatch) return;
  add(".running_mean", ".1.running_mean");
  add(".running_var", ".1.running_var");
}

}  // namespace

DeepXubeNetwork ToDeepXube(const StateDict& state, const NetworkSpec& spec,
                           const DeepXubePuzzle& puzzle) {
  const NetworkConfig& network = spec.layers;
  CheckDeepXubeHas(network);
  const c10::NoGradGuard no_grad;
  NamedTensors tensors(state);
  const LayerShape first = LayerShapes(spec).front();
  const DenseTensors folded = Folded(tensors, first.name, first.norm);
  const auto [weight, bias] = ToTheirFeatures(folded.weight, folded.bias, puzzle);

  DeepXubeNetwork result;
  StateDict& to = result.state;
  to.emplace_back(std::string(kFirst) + ".weight", weight.to(at::kFloat).contiguous());
  to.emplace_back(std::string(kFirst) + ".bias", bias.to(at::kFloat));
  std::int64_t blocks = 0;
  if (network.input_layer == InputLayer::kHidden) {
    AddBlock(to, blocks++, network, /*from=*/nullptr, 0);
  }
  for (std::int64_t b = 0; b < network.blocks; ++b) AddBlock(to, blocks++, network, &tensors, b);
  at::Tensor output = tensors.Take("output.weight");
  at::Tensor output_bias = tensors.Take("output.bias");
  if (network.head == Head::kQ) {
    output = output.index_select(0, Numbers(puzzle.actions));
    output_bias = output_bias.index_select(0, Numbers(puzzle.actions));
  }
  to.emplace_back(std::string(kOutput) + ".weight", output);
  to.emplace_back(std::string(kOutput) + ".bias", output_bias);
  result.name = fmt::format("resnet_fc.{}H_{}B", network.width, blocks);
  if (network.norm == Norm::kBatch) result.name += "_bn";
  if (network.norm == Norm::kLayer) result.name += "_ln";
  return result;
}

bool IsDeepXube(const TensorDict& weights) {
  for (const char* prefix : {"", "module."}) {
    if (weights.contains(fmt::format("{}{}.weight", prefix, kFirst))) return true;
  }
  return false;
}

NetworkWeights FromDeepXube(const TensorDict& weights, const DeepXubePuzzle& puzzle,
                            InputLayout input) {
  const c10::NoGradGuard no_grad;
  NamedTensors tensors(weights);
  const std::string first = kFirst;
  const std::string output = kOutput;
  NetworkWeights read;
  NetworkConfig& network = read.layers;
  network.input_layer = InputLayer::kLinear;
  network.norm = NormOfTheirs(tensors);
  const at::Tensor first_bias = tensors.Take(first + ".bias");
  const at::Tensor output_bias = tensors.Take(output + ".bias");
  network.width = first_bias.numel();
  network.blocks = 0;
  while (tensors.Has(LayerName(network.blocks, 0) + ".0.bias")) ++network.blocks;

  const auto actions = static_cast<std::int64_t>(puzzle.actions.size());
  const std::int64_t outputs = output_bias.numel();
  if (outputs != 1 && outputs != actions) {
    throw InputError(
        fmt::format("the network has {} outputs, expected 1 (V) or {} (Q: the actions "
                    "of {})",
                    outputs, actions, puzzle.domain));
  }
  network.head = outputs == 1 ? Head::kV : Head::kQ;
  const std::int64_t features =
      puzzle.features.empty() ? input.positions : static_cast<std::int64_t>(puzzle.features.size());

  StateDict& to = read.state;
  const at::Tensor weight = tensors.Take(first + ".weight", {network.width, features});
  to.emplace_back("input.weight", FromTheirFeatures(weight, puzzle));
  to.emplace_back("input.bias", first_bias);
  for (std::int64_t b = 0; b < network.blocks; ++b) {
    for (const int half : {0, 1}) TakeBlockLayer(tensors, b, half, network, to);
  }
  at::Tensor output_weight = tensors.Take(output + ".weight", {outputs, network.width});
  const bool is_q = network.head == Head::kQ;
  const auto in_our_order = [&](const at::Tensor& tensor) {
    return is_q ? tensor.index_select(0, Inverse(puzzle.actions)) : tensor;
  };
  to.emplace_back("output.weight", in_our_order(output_weight));
  to.emplace_back("output.bias", in_our_order(output_bias));
  tensors.ExpectAllTaken();
  return read;
}

}  // namespace tandem
