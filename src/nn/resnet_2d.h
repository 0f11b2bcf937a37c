// The network of residual blocks of convolutions, for boards.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <vector>

#include "nn/network.h"
#include "nn/resnet_fc.h"

namespace tandem {

/// ResNet2D maps the one-hot cells of a board through residual blocks of convolutions and a layer:
///
///     x = act(conv0(planes))
///     x = act(second(act(first(x))) + x)    for each block
///     x = act(hidden(x))                    all channels of all cells
///     y = output(x)
///
/// There is one plane for each value of a cell. Every layer except the last is normalised as `norm`
/// says. AlphaGo Zero evaluates boards with such blocks (Silver et al., "Mastering the game of Go
/// without human knowledge", 2017).
class ResNet2D final : public LayeredNetwork {
 public:
  ResNet2D(const NetworkSpec& spec, std::uint64_t seed)
      : LayeredNetwork(spec, Shapes(spec), seed) {}

  at::Tensor Forward(const at::Tensor& features) override;

  /// The layers in the order in which a row passes them: convolutions, `hidden` and `output`.
  static std::vector<LayerShape> Shapes(const NetworkSpec& spec);

  /// Returns why the puzzle's input does not fit, or "". The config was checked when it was read.
  static std::string Refusal(const NetworkSpec& spec);
};

}  // namespace tandem
