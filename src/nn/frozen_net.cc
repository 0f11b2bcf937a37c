#include "nn/frozen_net.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/layer_norm.h>
#include <ATen/ops/linear.h>
#include <c10/core/InferenceMode.h>

namespace tandem {

FrozenNet::Layer::Layer(const Dense& like, at::ScalarType type, c10::Device device) {
  const auto options = at::TensorOptions().dtype(type).device(device);
  weight_ = at::empty(like.weight.sizes(), options);
  bias_ = at::empty(like.bias.sizes(), options);
  if (like.norm == Norm::kLayer) {
    norm_weight_ = at::empty(like.norm_weight.sizes(), options);
    norm_bias_ = at::empty(like.norm_bias.sizes(), options);
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

FrozenNet::Output::Output(const Dense& like, c10::Device device)
    : linear_(like, at::kFloat, device) {}

void FrozenNet::Output::CopyFrom(const Dense& dense) { linear_.CopyFrom(dense); }

at::Tensor FrozenNet::Output::operator()(const at::Tensor& x) const {
  return linear_(x.to(at::kFloat));
}

FrozenNet::FrozenNet(const NetworkSpec& spec, at::ScalarType type, c10::Device device)
    : device_(device), one_hot_(spec.input, type, device) {
  const ResNetFC like(spec, /*seed=*/0);
  const auto make = [&](const std::shared_ptr<Dense>& dense) {
    return std::make_unique<Layer>(*dense, type, device);
  };
  for (const auto& dense : like.hidden) layers_.hidden.push_back(make(dense));
  for (const auto& block : like.blocks) {
    layers_.blocks.push_back({.first = make(block.first), .second = make(block.second)});
  }
  layers_.output = std::make_unique<Output>(*like.output, device);
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
  return (*layers_.output)(ResNetHidden(layers_, one_hot_(bytes)));
}

}  // namespace tandem
