#include "nn/tensors/tensor_layers.h"

#include <ATen/ops/empty.h>

#include <algorithm>
#include <utility>

namespace tandem {

TensorLayers::TensorLayers(const ResNetFC& net, const FlatParameters& parameters)
    : activation_(net.spec().layers.activation) {
  const at::Tensor& operands =
      parameters.copies().defined() ? parameters.copies() : parameters.values();
  options_ = operands.options();
  const std::vector<DenseTensors> of_products = parameters.ByLayer(operands);
  const std::vector<DenseTensors> values = parameters.ByLayer(parameters.values());
  const std::vector<DenseTensors> gradients = parameters.ByLayer(parameters.gradients());
  const std::vector<LayerShape>& shapes = net.shapes();
  hidden_.reserve(shapes.size() - 1);
  for (std::size_t i = 0; i + 1 < shapes.size(); ++i) {
    const Dense& dense = *net.layers()[i];
    TensorLayer layer{.shape = shapes[i],
                      .weight = of_products[i].weight,
                      .bias = of_products[i].bias,
                      .parameters = values[i],
                      .gradients = gradients[i],
                      .running_mean = dense.running_mean,
                      .running_var = dense.running_var};
    if (i == 0) {
      layer.weight = parameters.FirstWeights(operands);
      layer.gradients.weight = parameters.FirstWeights(parameters.gradients());
      layer.shape.in = layer.weight.size(0);
    }
    widest_ = std::max(widest_, layer.shape.out);
    most_weights_ = std::max(most_weights_, layer.weight.numel());
    hidden_.push_back(std::move(layer));
  }
  output_ = {.parameters = values.back(), .gradients = gradients.back()};
}

void TensorLayers::Reserve(std::int64_t rows) {
  const auto floats = options_.dtype(at::kFloat);
  for (TensorLayer& layer : hidden_) {
    const Norm norm = layer.shape.norm;
    const std::int64_t width = layer.shape.out;
    layer.y = at::empty({rows, width}, options_);
    if (norm == Norm::kNone) continue;
    layer.z = at::empty({rows, width}, options_);
    const std::int64_t statistics = norm == Norm::kBatch ? width : rows;
    layer.inverse = at::empty({statistics}, floats);
    if (norm != Norm::kRms) layer.mean = at::empty({statistics}, floats);
  }
}

}  // namespace tandem
