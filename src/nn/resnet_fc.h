// The network in training: a residual network of fully connected layers.
#pragma once

#include <ATen/core/Tensor.h>
#include <torch/nn/module.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "config/train_config.h"
#include "tandem/domain.h"

namespace tandem {

/// The shape of a network.
struct NetworkSpec {
  InputLayout input;
  NetworkConfig layers;
  std::int64_t outputs = 1;

  std::int64_t features() const { return std::int64_t{input.positions} * input.depth; }
};

/// The network that a config asks for, for a puzzle.
NetworkSpec NetworkFor(const NetworkConfig& config, const DomainSpec& domain);

/// The size of a linear layer and its normalisation.
struct DenseShape {
  std::int64_t in, out;
  Norm norm;
};

/// All layers in the order in which a row passes them: hidden layers (the stem first), both layers
/// of each block, the output layer.
std::vector<DenseShape> LayerShapes(const NetworkSpec& spec);

/// Weights and biases of all its layers.
std::int64_t NumParameters(const NetworkSpec& spec);

/// What a forward pass keeps of a row for the backward pass, in numbers: the features, and of each
/// unit of a hidden layer what is normalised, what is rectified, and what comes of it.
std::int64_t NumActivations(const NetworkSpec& spec);

/// About what one without a backward pass has of a row at a time: the features, and the widest
/// layer with what it is made of.
std::int64_t NumActivationsAtOnce(const NetworkSpec& spec);

/// A linear layer and its normalisation; no activation.
class Dense final : public torch::nn::Module {
 public:
  Dense(std::int64_t in, std::int64_t out, Norm norm);

  /// (n, in) -> (n, out)
  at::Tensor operator()(const at::Tensor& x);

  at::Tensor weight, bias;               ///< (out, in) and (out)
  at::Tensor norm_weight, norm_bias;     ///< (out), undefined without normalisation
  at::Tensor running_mean, running_var;  ///< (out), of batch normalisation alone

  Norm norm;
  static constexpr double kEpsilon = 1e-5;
  static constexpr double kMomentum = 0.1;
};

/// One-hot input, [stem,] a hidden layer, residual blocks, a linear output:
///
///     x = relu(stem(one_hot))    if stem_width > 0
///     x = relu(hidden(x))
///     x = relu(second(relu(first(x))) + x)    for each block
///     y = output(x)
///
/// where every layer but the last is normalised as `norm` says. With stem_width 5000, width 1000
/// and 4 blocks it is DeepCubeA's (Agostinelli et al., 2019).
class ResNetFC final : public torch::nn::Module {
 public:
  /// Weights as PyTorch's nn.Linear draws them, uniform within 1/sqrt(in), from `seed` alone: the
  /// same on every device.
  ResNetFC(const NetworkSpec& spec, std::uint64_t seed);

  /// Features (n, spec().features()) of OneHot to (n, outputs). Under autocast the output layer
  /// still runs in the precision of its weights: in bf16, outputs near 20 would be multiples of
  /// 1/8.
  at::Tensor Forward(const at::Tensor& features);

  const NetworkSpec& spec() const { return spec_; }
  std::int64_t NumParameters() const;

  struct Block {
    std::shared_ptr<Dense> first, second;
  };
  std::vector<std::shared_ptr<Dense>> hidden;
  std::vector<Block> blocks;
  std::shared_ptr<Dense> output;

 private:
  NetworkSpec spec_;
};

/// The forward pass up to the output layer, once for the network in training and once for
/// FrozenNet: `Net` has `hidden` and `blocks`, each layer callable on a tensor.
template <class Net>
at::Tensor ResNetHidden(Net& net, at::Tensor x) {
  for (auto& layer : net.hidden) x = (*layer)(x).relu();
  for (auto& block : net.blocks) {
    x = ((*block.second)((*block.first)(x).relu()) + x).relu();
  }
  return x;
}

/// Names and tensors in the order of Python's state_dict: parameters, then buffers, then children.
using StateDict = std::vector<std::pair<std::string, at::Tensor>>;
StateDict StateDictOf(const torch::nn::Module& module);

}  // namespace tandem
