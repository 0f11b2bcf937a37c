#include "nn/resnet_2d.h"

#include <memory>

namespace tandem {

std::vector<LayerShape> ResNet2D::Shapes(const NetworkSpec& spec) {
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

at::Tensor ResNet2D::Forward(const at::Tensor& features) {
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

std::string ResNet2D::Refusal(const NetworkSpec& spec) {
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

TANDEM_REGISTER_NETWORK(
    resnet_2d,
    {.make = [](const NetworkSpec& spec,
                std::uint64_t seed) { return std::make_unique<ResNet2D>(spec, seed); },
     .cost = [](const NetworkSpec& spec) { return ResNet2D::CostOf(ResNet2D::Shapes(spec)); },
     .refusal = &ResNet2D::Refusal});

}  // namespace tandem
