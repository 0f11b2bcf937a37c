// The network of plain hidden layers.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "nn/network.h"
#include "nn/resnet_fc.h"

namespace tandem {

/// MLP is a multilayer perceptron: it maps one-hot input through hidden layers without residual
/// connections to a linear output:
///
///     x = act(hidden0(one_hot))
///     x = act(hidden1(x))         and so on
///     y = output(x)
///
/// network.blocks is the number of hidden layers after the first one. All have network.width units;
/// with network.stem_width, one layer of that width comes before them. Every layer except the last
/// is normalised as `norm` says.
///
/// The networks of EfficientCube (Takano, 2023) and of CayleyPy (Chervov et al., 2025) begin with
/// two such layers before their residual blocks, and CayleyPy's smallest network is one such layer.
class MLP final : public Network {
 public:
  /// Draws the initial weights as PyTorch does (DrawWeights).
  MLP(const NetworkSpec& spec, std::uint64_t seed);

  at::Tensor Forward(const at::Tensor& features) override;

  static NetworkCost CostOf(const NetworkSpec& spec);

 private:
  std::vector<std::shared_ptr<Dense>> layers_;  // the last one is the output layer
};

}  // namespace tandem
