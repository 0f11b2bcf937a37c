#include "nn/fused_layers.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "nn/bf16.h"
#include "nn/block_products.h"
#include "nn/operand_passes.h"

namespace tandem {

template <class T>
FusedLayers<T>::FusedLayers(const ResNetFC& net, const std::vector<at::Tensor>& gradients)
    : depth_(net.spec().input.depth) {
  const std::vector<at::Tensor> parameters = net.parameters();
  std::size_t next = 0;  // parameters are in the order weight, bias, norm_weight, norm_bias
  const auto take = [&] {
    const std::size_t i = next++;
    return std::pair(parameters.at(i).template const_data_ptr<float>(),
                     gradients[i].template mutable_data_ptr<float>());
  };
  const std::vector<LayerShape> shapes = LayerShapes(net.spec());
  for (std::size_t i = 0; i + 1 < shapes.size(); ++i) widest_ = std::max(widest_, shapes[i].out);
  ones_.assign(static_cast<std::size_t>(widest_), 1);
  zeros_.assign(static_cast<std::size_t>(widest_), 0);
  for (std::size_t i = 0; i + 1 < shapes.size(); ++i) {
    const LayerShape& shape = shapes[i];
    FusedLayer<T> layer{.shape = {.width = shape.out,
                                  .norm = shape.norm == Norm::kBatch ? Norm::kNone : shape.norm,
                                  .activation = net.spec().layers.activation,
                                  .linear = shape.linear,
                                  .scale = ones_.data(),
                                  .shift = zeros_.data()},
                        .in = shape.in,
                        .adds_skip = shape.adds_skip,
                        .kept = {shape.out, shape.in}};
    std::tie(layer.weight, layer.weight_gradient) = take();
    std::tie(layer.shape.bias, layer.bias_gradient) = take();
    if (shape.norm != Norm::kNone) {
      std::tie(layer.shape.scale, layer.scale_gradient) = take();
    }
    if (shape.norm == Norm::kLayer || shape.norm == Norm::kBatch) {
      std::tie(layer.shape.shift, layer.shift_gradient) = take();
    }
    if (shape.norm == Norm::kBatch) {
      layer.batch_norm.emplace(*net.layers()[i]);
      layer.shape.bias = zeros_.data();
      layer.bias_gradient = nullptr;
      normalises_batch_ = true;
    }
    if (kIsBf16<T> || i > 0) {
      layer.forward.resize(static_cast<std::size_t>(shape.in * shape.out));
    }
    if (i > 0) layer.backward.resize(layer.forward.size());
    for (std::int64_t first = 0; i > 0 && first < shape.out; first += kPanelColumns) {
      panels_.push_back({.layer = i, .first_unit = first});
    }
    hidden_.push_back(std::move(layer));
  }
  output_.width = shapes.back().in;
  output_.outputs = shapes.back().out;
  std::tie(output_.weight, output_.weight_gradient) = take();
  std::tie(output_.bias, output_.bias_gradient) = take();
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
  for (std::size_t i = 1; i < size(); ++i) hidden_[i].kept.Reserve(rows);
}

template <class T>
void FusedLayers<T>::PackPanel(std::int64_t panel, T* rounded) {
  const auto [number, first] = panels_[static_cast<std::size_t>(panel)];
  FusedLayer<T>& layer = hidden_[number];
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
  layer.kept.Compute(rows, first, add, layer.weight_gradient + first * layer.in);
}

template class FusedLayers<float>;
template class FusedLayers<Bf16>;

}  // namespace tandem
