#include "nn/mlp.h"

#include <string>

#include "nn/threads.h"

namespace tandem {
namespace {

// The layers in the order in which a row passes them. The last one is the output layer.
std::vector<LayerShape> ShapesOf(const NetworkSpec& spec) {
  const NetworkConfig& config = spec.layers;
  std::vector<LayerShape> shapes;
  std::int64_t width = spec.features();
  const auto add_hidden = [&](std::int64_t out) {
    const std::string name = "hidden" + std::to_string(shapes.size());
    shapes.push_back({.name = name, .in = width, .out = out, .norm = config.norm});
    width = out;
  };
  if (config.stem_width > 0) add_hidden(config.stem_width);
  for (std::int64_t i = 0; i <= config.blocks; ++i) add_hidden(config.width);
  shapes.push_back({.name = "output", .in = width, .out = spec.outputs, .norm = Norm::kNone});
  return shapes;
}

}  // namespace

MLP::MLP(const NetworkSpec& spec, std::uint64_t seed) : Network(spec) {
  at::Generator generator = InitialWeights(seed);
  for (const LayerShape& shape : ShapesOf(spec)) {
    const auto dense = RegisterModule(shape.name, std::make_shared<Dense>(shape));
    DrawWeights(dense->weight, dense->bias, shape.in, generator);
    layers_.push_back(dense);
  }
}

at::Tensor MLP::Forward(const at::Tensor& features) {
  at::Tensor x = features;
  for (std::size_t i = 0; i + 1 < layers_.size(); ++i) {
    x = Activate(spec().layers.activation, (*layers_[i])(x));
  }
  Dense& output = *layers_.back();
  const ScopedAutocast full_precision(features.device().type(), /*enabled=*/false);
  return output(x.to(output.weight.scalar_type()));
}

NetworkCost MLP::CostOf(const NetworkSpec& spec) {
  NetworkCost cost = CostOfLayers(spec, ShapesOf(spec));
  cost.first_layer_flop = 0;  // there is no ForwardGathered
  return cost;
}

TANDEM_REGISTER_NETWORK(mlp, {.make =
                                  [](const NetworkSpec& spec, std::uint64_t seed) {
                                    return std::make_unique<MLP>(spec, seed);
                                  },
                              .cost = &MLP::CostOf});

}  // namespace tandem
