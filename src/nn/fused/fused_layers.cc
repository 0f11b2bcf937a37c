#include "nn/fused/fused_layers.h"

#include <algorithm>
#include <utility>

#include "nn/bf16.h"
#include "nn/fused/block_products.h"
#include "nn/fused/operand_passes.h"

namespace tandem {

template <class T>
FusedLayers<T>::FusedLayers(const ResNetFC& net, const FlatParameters& parameters,
                            bool multiplies_first)
    : depth_(net.spec().input.depth), multiplies_first_(multiplies_first), defaults_(net.shapes()) {
  const std::vector<DenseTensors> values = parameters.ByLayer(parameters.values());
  const std::vector<DenseTensors> gradients = parameters.ByLayer(parameters.gradients());
  const std::vector<LayerShape>& shapes = net.shapes();
  const auto or_null = [](const at::Tensor& gradient) {
    return gradient.defined() ? gradient.mutable_data_ptr<float>() : nullptr;
  };
  hidden_.reserve(shapes.size() - 1);
  for (std::size_t i = 0; i + 1 < shapes.size(); ++i) {
    const LayerShape& shape = shapes[i];
    FusedLayer<T> layer{.shape = defaults_.Describe(shape, net.spec().layers.activation, values[i]),
                        .in = shape.in,
                        .begins_block = shape.begins_block,
                        .adds_skip = shape.adds_skip,
                        .weight = values[i].weight.template const_data_ptr<float>(),
                        .weight_gradient = or_null(gradients[i].weight),
                        .bias_gradient = or_null(gradients[i].bias),
                        .scale_gradient = or_null(gradients[i].norm_weight),
                        .shift_gradient = or_null(gradients[i].norm_bias),
                        .kept = i > 0 ? WeightGradient<T>(shape.out, shape.in)
                                      : WeightGradient<T>(shape.in, shape.out)};
    if (shape.norm == Norm::kBatch) {
      layer.batch_norm.emplace(*net.layers()[i]);
      layer.shape.bias = defaults_.zeros();
      layer.bias_gradient = nullptr;
      normalises_batch_ = true;
    }
    if (kIsBf16<T> || i > 0) {
      layer.forward.resize(static_cast<std::size_t>(shape.in * shape.out));
    }
    if (i > 0) layer.backward.resize(layer.forward.size());
    const std::int64_t rows_of_weight = i > 0 ? shape.out : multiplies_first ? shape.in : 0;
    for (std::int64_t first = 0; first < rows_of_weight; first += kPanelColumns) {
      panels_.push_back({.layer = i, .first = first});
    }
    hidden_.push_back(std::move(layer));
  }
  output_ = {.width = shapes.back().in,
             .outputs = shapes.back().out,
             .weight = values.back().weight.template const_data_ptr<float>(),
             .bias = values.back().bias.template const_data_ptr<float>(),
             .weight_gradient = or_null(gradients.back().weight),
             .bias_gradient = or_null(gradients.back().bias)};
}

template <class T>
const T* FusedLayers<T>::first_weights() const {
  if constexpr (kIsBf16<T>) {
    return hidden_.front().forward.data();
  } else {
    return hidden_.front().weight;
  }
}

template <class T>
void FusedLayers<T>::Reserve(std::int64_t rows) {
  for (std::size_t i = multiplies_first_ ? 0 : 1; i < size(); ++i) hidden_[i].kept.Reserve(rows);
}

template <class T>
void FusedLayers<T>::PackPanel(std::int64_t panel, T* rounded) {
  const auto [number, first] = panels_[static_cast<std::size_t>(panel)];
  FusedLayer<T>& layer = hidden_[number];
  if constexpr (kIsBf16<T>) {
    if (number == 0) {
      const std::int64_t width = layer.shape.width;
      const std::int64_t features = PanelWidth(first, layer.in);
      RunPass(RoundToBf16{
          .count = features * width, .from = layer.weight + first * width, .to = rounded});
      return PackRows(first, features, width, rounded, layer.in, layer.forward.data());
    }
  }
  PackWeights(layer.weight, first, layer.in, layer.shape.width, rounded, layer.forward.data());
  const T* rows = nullptr;
  if constexpr (kIsBf16<T>) {
    rows = rounded;
  } else {
    rows = layer.weight + first * layer.in;
  }
  PackRows(first, PanelWidth(first, layer.shape.width), layer.in, rows, layer.shape.width,
           layer.backward.data());
}

template <class T>
void FusedLayers<T>::PackPosition(std::int64_t position) {
  if constexpr (kIsBf16<T>) {
    FusedLayer<T>& layer = hidden_.front();
    const std::int64_t count = depth_ * layer.shape.width;
    RunPass(RoundToBf16{.count = count,
                        .from = layer.weight + position * count,
                        .to = layer.forward.data() + position * count});
  }
}

template <class T>
void FusedLayers<T>::ComputeGradient(std::int64_t panel, std::int64_t rows, bool add) const {
  const auto [number, first] = panels_[static_cast<std::size_t>(panel)];
  const FusedLayer<T>& layer = hidden_[number];
  const std::int64_t stride = number == 0 ? layer.shape.width : layer.in;
  layer.kept.Compute(rows, first, add, layer.weight_gradient + first * stride);
}

template class FusedLayers<float>;
template class FusedLayers<Bf16>;

}  // namespace tandem
