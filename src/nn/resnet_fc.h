// The network of fully connected residual blocks: its layers and their costs.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "config/config.h"
#include "nn/module.h"
#include "nn/network.h"

namespace tandem {

/// LayerShape is the name and size of a linear layer, and what follows it.
struct LayerShape {
  std::string name;
  std::int64_t in, out;
  Norm norm;
  bool adds_skip = false;  ///< the second layer of a block: the block's input is added
  bool linear = false;     ///< no activation: the linear input layer, and the output layer
};

/// All layers in the order in which a row passes them: hidden layers (the stem first), both layers
/// of each block, the output layer.
std::vector<LayerShape> LayerShapes(const NetworkSpec& spec);

/// The name of the first (half 0) or the second layer of a block.
std::string BlockLayerName(std::int64_t block, int half);

/// What a network of these linear layers takes, with or without residual connections. `layers` are
/// in the order in which a row passes them; the last one is the output layer, and the first one can
/// be gathered.
///
/// A forward pass keeps for the backward pass the features and, for each unit of a hidden layer,
/// the inputs of the normalisation and of the activation, and the activation's output. RMSNorm
/// keeps its result without the weights too. Without a backward pass there are at one time the
/// features, and the widest layer with its inputs. Training computes the products of the forward
/// pass, the gradients of the weights, and the gradients of each layer's inputs except the first
/// layer's.
NetworkCost CostOfLayers(const NetworkSpec& spec, std::span<const LayerShape> layers);

/// Dense is a linear layer and its normalisation, without an activation.
class Dense final : public Module {
 public:
  explicit Dense(const LayerShape& shape);

  /// (n, in) -> (n, out)
  at::Tensor operator()(const at::Tensor& x);

  /// Normalises (n, out), the result of the linear layer.
  at::Tensor Normalise(const at::Tensor& y);

  at::Tensor weight, bias;               ///< (out, in) and (out)
  at::Tensor norm_weight, norm_bias;     ///< (out), undefined without; RMSNorm has no norm_bias
  at::Tensor running_mean, running_var;  ///< (out), defined for batch normalisation only

  Norm norm;
  static constexpr double kEpsilon = 1e-5;
  static constexpr double kMomentum = 0.1;
};

/// FoldedDense is a linear layer that contains its batch normalisation in evaluation mode. Other
/// kinds of normalisation must follow it.
struct FoldedDense {
  at::Tensor weight, bias;  ///< (out, in) and (out)
};
FoldedDense Fold(const Dense& dense);

/// ResNetFC maps one-hot input through an optional stem, a hidden layer and residual blocks to a
/// linear output:
///
///     x = relu(stem(one_hot))    if stem_width > 0
///     x = relu(hidden(x))
///     x = relu(second(relu(first(x))) + x)    for each block
///     y = output(x)
///
/// With input_layer linear there is no stem, and the second line is x = input(one_hot), as in
/// DeepXube's resnet_fc. That layer has a name of its own, so that the weights show which of the
/// two networks they belong to.
///
/// Every layer except input and output is normalised as `norm` says. With stem_width 5000, width
/// 1000 and 4 blocks it is the network of DeepCubeA (Agostinelli et al., 2019).
class ResNetFC final : public Network {
 public:
  /// Draws the initial weights as PyTorch's nn.Linear does: uniform between -1/sqrt(in) and
  /// 1/sqrt(in). They depend on `seed` only, and are the same on every device.
  ResNetFC(const NetworkSpec& spec, std::uint64_t seed);

  /// Maps the features (n, spec().features()) that OneHot makes to (n, outputs). Under autocast,
  /// the output layer still runs in the precision of its weights: in bf16, outputs near 20 would be
  /// multiples of 1/8.
  at::Tensor Forward(const at::Tensor& features) override;
  at::Tensor ForwardGathered(const at::Tensor& bytes, const GatheredFeatures& gathered) override;

  /// The layers, in the order of LayerShapes.
  const std::vector<std::shared_ptr<Dense>>& layers() const { return layers_; }

  static NetworkCost CostOf(const NetworkSpec& spec);

 private:
  // `first_layer(input)` applies the first layer.
  template <class First>
  at::Tensor ForwardFrom(const at::Tensor& input, First&& first_layer);

  std::vector<std::shared_ptr<Dense>> layers_;
};

/// Applies layer normalisation or RMSNorm, which depend on no other row. With other kinds of
/// normalisation, returns `x`. `weight` and `bias` have shape (width of x); RMSNorm uses no bias.
at::Tensor NormaliseRows(Norm norm, const at::Tensor& x, const at::Tensor& weight,
                         const at::Tensor& bias);

/// Applies the activation of the hidden layers.
at::Tensor Activate(Activation activation, const at::Tensor& x);

/// The forward pass up to the output layer, which ResNetFC and InferenceNet share. `layer(i, x)`
/// applies layer i of LayerShapes to x.
template <class Layer>
at::Tensor ResNetHidden(const NetworkConfig& config, at::Tensor x, const Layer& layer) {
  std::size_t next = 0;
  for (const std::size_t blocks_begin = config.stem_width > 0 ? 2 : 1; next < blocks_begin;
       ++next) {
    x = layer(next, x);
    if (config.input_layer == InputLayer::kHidden) x = Activate(config.activation, x);
  }
  for (std::int64_t block = 0; block < config.blocks; ++block, next += 2) {
    const at::Tensor inner = Activate(config.activation, layer(next, x));
    x = Activate(config.activation, layer(next + 1, inner).add(x));
  }
  return x;
}

}  // namespace tandem
