// The network of residual blocks of convolutions, for boards.
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "nn/network.h"
#include "nn/resnet_fc.h"

namespace tandem {
namespace {

// The layers in the order in which a row passes them: convolutions, `hidden` and `output`.
std::vector<LayerShape> Shapes(const NetworkSpec& spec) {
  const NetworkConfig& config = spec.layers;
  const std::int64_t cells = spec.input.positions;
  const LayerShape convolution{
      .in = config.channels, .out = config.channels, .norm = config.norm, .cells = cells};
  std::vector<LayerShape> shapes = {convolution};
  shapes.front().name = "conv0";
  shapes.front().in = spec.input.depth;
  for (std::int64_t b = 0; b < config.blocks; ++b) AddBlock(b, convolution, shapes);
  shapes.push_back(
      {.name = "hidden", .in = config.channels * cells, .out = config.width, .norm = config.norm});
  shapes.push_back({.name = "output",
                    .in = config.width,
                    .out = spec.outputs,
                    .norm = Norm::kNone,
                    .linear = true});
  return shapes;
}

// ResNet2D maps the one-hot cells of a board through residual blocks of convolutions and a layer:
//
//     x = act(conv0(planes))
//     x = act(second(act(first(x))) + x)    for each block
//     x = act(hidden(x))                    all channels of all cells
//     y = output(x)
//
// There is one plane for each value of a cell. Every layer except the last is normalised as `norm`
// says. AlphaGo Zero evaluates boards with such blocks (Silver et al., "Mastering the game of Go
// without human knowledge", 2017).
class ResNet2D final : public LayeredNetwork {
 public:
  ResNet2D(const NetworkSpec& spec, std::uint64_t seed)
      : LayeredNetwork(spec, Shapes(spec), seed) {}

  at::Tensor Forward(const at::Tensor& features) override {
    const std::int64_t rows = features.size(0);
    const BoardShape board = *spec().board;
    // The features of a cell lie together, so the planes are in the memory format channels_last, in
    // which convolutions on a CPU are fast, and nothing is copied here or after the last block.
    const at::Tensor planes =
        features.view({rows, board.rows, board.columns, spec().input.depth}).permute({0, 3, 1, 2});
    const std::size_t hidden = layers().size() - 2;
    return Run(planes, [&](std::size_t i, const at::Tensor& x) {
      return (*layers()[i])(i == hidden ? x.permute({0, 2, 3, 1}).reshape({rows, -1}) : x);
    });
  }
};

// Returns why the puzzle's input does not fit, or "". The config was checked when it was read.
std::string Refusal(const NetworkSpec& spec) {
  if (!spec.board) {
    return "resnet_2d needs a board, and this puzzle's input is not one (its spec has no board). "
           "Set network.kind to resnet_fc, or choose a board puzzle such as npuzzle.";
  }
  if (std::int64_t{spec.board->rows} * spec.board->columns != spec.input.positions) {
    return "resnet_2d reads nothing but the cells of the board, and this input has more. Set "
           "network.kind to resnet_fc.";
  }
  return "";
}

TANDEM_REGISTER_NETWORK(resnet_2d, {.make =
                                        [](const NetworkSpec& spec, std::uint64_t seed) {
                                          return std::make_unique<ResNet2D>(spec, seed);
                                        },
                                    .refusal = &Refusal});

}  // namespace
}  // namespace tandem
