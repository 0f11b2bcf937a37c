#include "nn/resnet_2d.h"

#include <ATen/ops/batch_norm.h>
#include <ATen/ops/conv2d.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>

#include "nn/threads.h"

namespace tandem {
namespace {

constexpr std::int64_t kWeightsPerChannel = Convolution::kSide * Convolution::kSide;

// The convolutions in the order in which a row passes them.
std::vector<ConvolutionShape> ConvolutionShapes(const NetworkSpec& spec) {
  const NetworkConfig& config = spec.layers;
  std::vector<ConvolutionShape> shapes;
  std::int64_t channels = spec.input.depth;
  const auto add = [&](const std::string& name) {
    shapes.push_back({.name = name, .in = channels, .out = config.channels, .norm = config.norm});
    channels = config.channels;
  };
  add("conv0");
  for (std::int64_t b = 0; b < config.blocks; ++b) {
    const std::string name = "block" + std::to_string(b);
    add(name + "_first");
    add(name + "_second");
  }
  return shapes;
}

LayerShape HiddenShape(const NetworkSpec& spec) {
  return {.name = "hidden",
          .in = spec.layers.channels * spec.input.positions,
          .out = spec.layers.width,
          .norm = spec.layers.norm};
}

LayerShape OutputShape(const NetworkSpec& spec) {
  return {.name = "output", .in = spec.layers.width, .out = spec.outputs, .norm = Norm::kNone};
}

std::shared_ptr<Dense> MakeDense(const LayerShape& shape, at::Generator& generator) {
  auto dense = std::make_shared<Dense>(shape);
  DrawWeights(dense->weight, dense->bias, shape.in, generator);
  return dense;
}

}  // namespace

Convolution::Convolution(const ConvolutionShape& shape) {
  weight = RegisterParameter("weight", at::empty({shape.out, shape.in, kSide, kSide}));
  bias = RegisterParameter("bias", at::empty({shape.out}));
  if (shape.norm == Norm::kNone) return;
  norm_weight = RegisterParameter("norm_weight", at::ones({shape.out}));
  norm_bias = RegisterParameter("norm_bias", at::zeros({shape.out}));
  running_mean = RegisterBuffer("running_mean", at::zeros({shape.out}));
  running_var = RegisterBuffer("running_var", at::ones({shape.out}));
}

at::Tensor Convolution::operator()(const at::Tensor& x) {
  constexpr std::int64_t kStride = 1;
  constexpr std::int64_t kPadding = kSide / 2;
  at::Tensor y = at::conv2d(x, weight, bias, at::IntArrayRef(kStride), at::IntArrayRef(kPadding));
  if (!norm_weight.defined()) return y;
  return at::batch_norm(y, norm_weight, norm_bias, running_mean, running_var, is_training(),
                        Dense::kMomentum, Dense::kEpsilon, /*cudnn_enabled=*/true);
}

ResNet2D::ResNet2D(const NetworkSpec& spec, std::uint64_t seed) : Network(spec) {
  at::Generator generator = InitialWeights(seed);
  for (const ConvolutionShape& shape : ConvolutionShapes(spec)) {
    Convolution& convolution = *convolutions_.emplace_back(
        RegisterModule(shape.name, std::make_shared<Convolution>(shape)));
    DrawWeights(convolution.weight, convolution.bias, kWeightsPerChannel * shape.in, generator);
  }
  hidden_ = RegisterModule("hidden", MakeDense(HiddenShape(spec), generator));
  output_ = RegisterModule("output", MakeDense(OutputShape(spec), generator));
}

at::Tensor ResNet2D::Forward(const at::Tensor& features) {
  const std::int64_t rows = features.size(0);
  const BoardShape board = *spec().board;
  const Activation activation = spec().layers.activation;
  // The features of a cell lie together, so the planes are in the memory format channels_last, in
  // which convolutions on a CPU are fast, and nothing is copied here or after the last block.
  at::Tensor x =
      features.view({rows, board.rows, board.columns, spec().input.depth}).permute({0, 3, 1, 2});
  x = Activate(activation, (*convolutions_[0])(x));
  for (std::size_t i = 1; i < convolutions_.size(); i += 2) {
    const at::Tensor inner = Activate(activation, (*convolutions_[i])(x));
    x = Activate(activation, (*convolutions_[i + 1])(inner) + x);
  }
  x = Activate(activation, (*hidden_)(x.permute({0, 2, 3, 1}).reshape({rows, -1})));
  const ScopedAutocast full_precision(features.device().type(), /*enabled=*/false);
  return (*output_)(x.to(output_->weight.scalar_type()));
}

NetworkCost ResNet2D::CostOf(const NetworkSpec& spec) {
  const std::int64_t cells = spec.input.positions;
  const std::int64_t norm_parameters = spec.layers.norm == Norm::kBatch ? 2 : 0;
  NetworkCost cost;
  double first_products = 0;
  double products = 0;  // multiplications of weights
  for (const ConvolutionShape& shape : ConvolutionShapes(spec)) {
    const std::int64_t weights = kWeightsPerChannel * shape.in;
    cost.parameters += shape.out * (weights + 1 + norm_parameters);
    products += static_cast<double>(shape.out * weights * cells);
    if (first_products == 0) first_products = products;
  }
  for (const LayerShape& shape : {HiddenShape(spec), OutputShape(spec)}) {
    const bool normalised = shape.norm != Norm::kNone;
    cost.parameters += shape.out * (shape.in + 1 + (normalised ? norm_parameters : 0));
    products += static_cast<double>(shape.in * shape.out);
  }
  // Training also computes the gradients of the weights and of each layer's inputs, except the
  // inputs of the first layer.
  cost.evaluation_flop = 2 * products;
  cost.training_flop = 3 * cost.evaluation_flop - 2 * first_products;
  return cost;
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

TANDEM_REGISTER_NETWORK(resnet_2d, {.make =
                                        [](const NetworkSpec& spec, std::uint64_t seed) {
                                          return std::make_unique<ResNet2D>(spec, seed);
                                        },
                                    .cost = &ResNet2D::CostOf,
                                    .refusal = &ResNet2D::Refusal});

}  // namespace tandem
