#include "nn/inference_net.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/layer_norm.h>
#include <ATen/ops/linear.h>
#include <c10/core/InferenceMode.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "nn/products.h"
#include "nn/threads.h"

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

TorchEvaluatorOptions EvaluatorOptionsFor(const InferenceConfig& config) {
  return {.batch_size = config.batch_size, .threads = static_cast<int>(*config.threads)};
}

at::ScalarType WeightTypeFor(const InferenceConfig& config) {
  return config.precision == Precision::kBf16 ? at::kBFloat16 : at::kFloat;
}

TorchEvaluator::TorchEvaluator(const FrozenNet& net, Device& device, const NetworkSpec& spec,
                               TorchEvaluatorOptions options)
    : net_(net), options_(options), stream_(device.MakeStream()) {
  CheckProducts(device, options.threads);
  const TensorSpec inputs{.type = at::kByte, .sizes = {options.batch_size, spec.input.positions}};
  slots_ = device.MakeSlots(kNumSlots, {inputs}, {});
  for (const auto& slot : slots_) {
    std::ranges::fill(slot->host(0), std::byte{0});  // padding must be valid input
  }
}

void TorchEvaluator::Evaluate(ConstRows inputs, std::span<float> values) {
  EvaluateAll(inputs, values, [](const at::Tensor& outputs) { return outputs.amin(1); });
}

void TorchEvaluator::EvaluateActions(ConstRows inputs, std::span<float> values) {
  EvaluateAll(inputs, values, [](const at::Tensor& outputs) { return outputs; });
}

void TorchEvaluator::EvaluateAll(ConstRows inputs, std::span<float> values, Reduce reduce) {
  if (inputs.empty()) return;
  num_rows_.fetch_add(static_cast<std::int64_t>(inputs.size()), std::memory_order_relaxed);
  const std::size_t width = values.size() / inputs.size();
  const ScopedThreads threads(options_.threads);
  const std::unique_ptr<StreamScope> scope = stream_->Enter();
  const auto batch_size = static_cast<std::size_t>(options_.batch_size);
  const auto batch_at = [&](std::size_t first) {
    return inputs.Slice(first, std::min(batch_size, inputs.size() - first));
  };
  std::size_t slot = 0;
  StartCopy(batch_at(0), *slots_[slot]);
  for (std::size_t first = 0; first < inputs.size(); first += batch_size) {
    const std::size_t count = batch_at(first).size();
    const at::Tensor estimates = Forward(*slots_[slot], count, reduce);
    slot = 1 - slot;
    // On a GPU, this copy runs in parallel with the forward pass that has just been enqueued.
    if (first + count < inputs.size()) StartCopy(batch_at(first + count), *slots_[slot]);
    const at::Tensor on_host = estimates.cpu();  // waits for the stream
    const std::span<float> into = values.subspan(first * width, count * width);
    std::memcpy(into.data(), on_host.const_data_ptr<float>(), into.size_bytes());
  }
}

void TorchEvaluator::StartCopy(ConstRows batch, TransferSlot& slot) {
  slot.AwaitHost();
  std::ranges::copy(batch.bytes(), reinterpret_cast<std::uint8_t*>(slot.host(0).data()));
  slot.EnqueueCopy();
}

at::Tensor TorchEvaluator::Forward(TransferSlot& slot, std::size_t rows, Reduce reduce) {
  slot.AwaitCopy();
  const at::Tensor bytes = slot.device(0).narrow(0, 0, PaddedRows(rows));
  at::Tensor estimates = reduce(net_.Forward(bytes)).contiguous();
  slot.Release();
  return estimates;
}

std::int64_t TorchEvaluator::PaddedRows(std::size_t rows) const {
  return std::min(options_.batch_size, static_cast<std::int64_t>(std::bit_ceil(rows)));
}

OnlineEvaluator::OnlineEvaluator(const ResNetFC& net, at::ScalarType type, Device& device,
                                 TorchEvaluatorOptions options)
    : net_(net),
      stream_(device.MainStream()),
      frozen_(net.spec(), type, device.torch()),
      evaluator_(frozen_, device, net.spec(), options) {}

void OnlineEvaluator::Evaluate(ConstRows inputs, std::span<float> values) {
  if (changed_) {
    const std::unique_ptr<StreamScope> scope = stream_->Enter();
    frozen_.CopyFrom(net_);
    changed_ = false;
  }
  evaluator_.Evaluate(inputs, values);
}

}  // namespace tandem
