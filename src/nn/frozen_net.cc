#include "nn/frozen_net.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/layer_norm.h>
#include <ATen/ops/linear.h>
#include <c10/core/InferenceMode.h>
#include <c10/core/impl/VirtualGuardImpl.h>

namespace tandem {
namespace {

c10::Stream CurrentStream(c10::Device device) {
  return c10::impl::VirtualGuardImpl(device.type()).getStream(device);
}

}  // namespace

FrozenNet::Layer::Layer(const DenseShape& shape, at::ScalarType type, c10::Device device) {
  const auto options = at::TensorOptions().dtype(type).device(device);
  weight_ = at::empty({shape.out, shape.in}, options);
  bias_ = at::empty({shape.out}, options);
  if (shape.norm == Norm::kLayer) {
    norm_weight_ = at::empty({shape.out}, options);
    norm_bias_ = at::empty({shape.out}, options);
  }
}

void FrozenNet::Layer::CopyFrom(const Dense& dense) {
  if (dense.norm == Norm::kBatch) {
    // norm(Wx + b) = s (Wx + b - mean) + norm_bias with s = norm_weight / sqrt(var + epsilon)
    const at::Tensor scale = dense.norm_weight / (dense.running_var + Dense::kEpsilon).sqrt();
    weight_.copy_(dense.weight * scale.unsqueeze(1));
    bias_.copy_((dense.bias - dense.running_mean) * scale + dense.norm_bias);
    return;
  }
  weight_.copy_(dense.weight);
  bias_.copy_(dense.bias);
  if (dense.norm == Norm::kLayer) {
    norm_weight_.copy_(dense.norm_weight);
    norm_bias_.copy_(dense.norm_bias);
  }
}

at::Tensor FrozenNet::Layer::operator()(const at::Tensor& x) const {
  at::Tensor y = at::linear(x, weight_, bias_);
  if (!norm_weight_.defined()) return y;
  return at::layer_norm(y, norm_weight_.sizes(), norm_weight_, norm_bias_, Dense::kEpsilon);
}

void FrozenNet::Layer::AddTo(StateDict& state, const std::string& name) const {
  state.emplace_back(name + ".weight", weight_);
  state.emplace_back(name + ".bias", bias_);
  if (!norm_weight_.defined()) return;
  state.emplace_back(name + ".norm_weight", norm_weight_);
  state.emplace_back(name + ".norm_bias", norm_bias_);
}

FrozenNet::Output::Output(const DenseShape& shape, c10::Device device)
    : linear_(shape, at::kFloat, device) {}

void FrozenNet::Output::CopyFrom(const Dense& dense) { linear_.CopyFrom(dense); }

at::Tensor FrozenNet::Output::operator()(const at::Tensor& x) const {
  return linear_(x.to(at::kFloat));
}

FrozenNet::FrozenNet(const NetworkSpec& spec, at::ScalarType type, c10::Device device)
    : device_(device), one_hot_(spec.input, type, device) {
  const std::vector<DenseShape> shapes = LayerShapes(spec);
  const auto in_blocks = static_cast<std::size_t>(2 * spec.layers.blocks);
  const std::size_t hidden = shapes.size() - in_blocks - 1;
  const auto make = [&](std::size_t layer) {
    return std::make_unique<Layer>(shapes[layer], type, device);
  };
  for (std::size_t i = 0; i < hidden; ++i) layers_.hidden.push_back(make(i));
  for (std::size_t i = hidden; i < hidden + in_blocks; i += 2) {
    layers_.blocks.push_back({.first = make(i), .second = make(i + 1)});
  }
  layers_.output = std::make_unique<Output>(shapes.back(), device);
  if (!device.is_cpu()) copied_.emplace(device.type());
}

void FrozenNet::CopyFrom(const ResNetFC& net) {
  const c10::NoGradGuard no_grad;
  for (std::size_t i = 0; i < layers_.hidden.size(); ++i) {
    layers_.hidden[i]->CopyFrom(*net.hidden[i]);
  }
  for (std::size_t i = 0; i < layers_.blocks.size(); ++i) {
    layers_.blocks[i].first->CopyFrom(*net.blocks[i].first);
    layers_.blocks[i].second->CopyFrom(*net.blocks[i].second);
  }
  layers_.output->CopyFrom(*net.output);
  if (copied_) copied_->record(CurrentStream(device_));
}

StateDict FrozenNet::State() const {
  StateDict state;
  for (std::size_t i = 0; i < layers_.hidden.size(); ++i) {
    layers_.hidden[i]->AddTo(state, "hidden" + std::to_string(i));
  }
  for (std::size_t i = 0; i < layers_.blocks.size(); ++i) {
    layers_.blocks[i].first->AddTo(state, "block" + std::to_string(i) + "_first");
    layers_.blocks[i].second->AddTo(state, "block" + std::to_string(i) + "_second");
  }
  layers_.output->AddTo(state, "output");
  return state;
}

at::Tensor FrozenNet::Forward(const at::Tensor& bytes) const {
  const c10::InferenceMode inference;
  if (copied_) copied_->block(CurrentStream(device_));
  return (*layers_.output)(ResNetHidden(layers_, one_hot_(bytes)));
}

}  // namespace tandem
