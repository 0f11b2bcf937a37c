// The network of residual blocks of convolutions, for boards.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "nn/network.h"
#include "nn/resnet_fc.h"

namespace tandem {

/// ConvolutionShape is the name and size of a convolution, and its normalisation.
struct ConvolutionShape {
  std::string name;
  std::int64_t in, out;  ///< channels
  Norm norm;             ///< kNone or kBatch
};

/// Convolution is a 3x3 convolution that keeps the size of the board, and its normalisation,
/// without an activation. Cells outside the board are 0.
class Convolution final : public Module {
 public:
  explicit Convolution(const ConvolutionShape& shape);

  /// (n, in, rows, columns) -> (n, out, rows, columns)
  at::Tensor operator()(const at::Tensor& x);

  at::Tensor weight, bias;               ///< (out, in, 3, 3) and (out)
  at::Tensor norm_weight, norm_bias;     ///< (out), undefined without
  at::Tensor running_mean, running_var;  ///< (out), undefined without

  static constexpr std::int64_t kSide = 3;
};

/// ResNet2D maps the one-hot cells of a board through residual blocks of convolutions and a linear
/// layer to a linear output:
///
///     x = act(conv0(planes))
///     x = act(second(act(first(x))) + x)    for each block
///     x = act(hidden(x))                    all channels of all cells
///     y = output(x)
///
/// There is one plane for each value of a cell. Every layer except the last is normalised as `norm`
/// says. AlphaGo Zero evaluates boards with such blocks (Silver et al., "Mastering the game of Go
/// without human knowledge", 2017).
class ResNet2D final : public Network {
 public:
  /// Draws the initial weights as PyTorch does (DrawWeights).
  ResNet2D(const NetworkSpec& spec, std::uint64_t seed);

  at::Tensor Forward(const at::Tensor& features) override;

  static NetworkCost CostOf(const NetworkSpec& spec);

  /// Returns why the puzzle's input does not fit, or "". The config was checked when it was read.
  static std::string Refusal(const NetworkSpec& spec);

 private:
  std::vector<std::shared_ptr<Convolution>> convolutions_;
  std::shared_ptr<Dense> hidden_, output_;
};

}  // namespace tandem
