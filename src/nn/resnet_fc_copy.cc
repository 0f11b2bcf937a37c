#include "nn/resnet_fc_copy.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/linear.h>

#include "nn/device.h"
#include "nn/fused_copy.h"
#include "nn/tensor_copy.h"
#include "tandem/error.h"

namespace tandem {

ResNetFCCopy::Layer::Layer(const LayerShape& shape, at::ScalarType type, c10::Device device)
    : name(shape.name), norm(shape.norm) {
  const auto options = at::TensorOptions().dtype(type).device(device);
  weight = at::empty({shape.out, shape.in}, options);
  bias = at::empty({shape.out}, options);
  if (norm == Norm::kNone || norm == Norm::kBatch) return;
  norm_weight = at::empty({shape.out}, options);
  if (norm == Norm::kLayer) norm_bias = at::empty({shape.out}, options);
}

// Not const, because it rewrites the weights, which at::Tensor would allow.
// NOLINTNEXTLINE(readability-make-member-function-const)
void ResNetFCCopy::Layer::Load(const Dense& dense) {
  const FoldedDense folded = Fold(dense);
  weight.copy_(folded.weight);
  bias.copy_(folded.bias);
  if (norm_weight.defined()) norm_weight.copy_(dense.norm_weight);
  if (norm_bias.defined()) norm_bias.copy_(dense.norm_bias);
}

at::Tensor ResNetFCCopy::Layer::operator()(const at::Tensor& x) const {
  return Normalise(at::linear(x, weight, bias));
}

at::Tensor ResNetFCCopy::Layer::Normalise(const at::Tensor& y) const {
  return NormaliseRows(norm, y, norm_weight, norm_bias);
}

ResNetFCCopy::ResNetFCCopy(const NetworkSpec& spec, const InferenceConfig& config,
                           c10::Device device)
    : config_(spec.layers),
      input_depth_(spec.input.depth),
      type_(WeightType(config)),
      one_hot_(spec.input, type_, device) {
  const bool gathers = GathersInInference(config, spec.input, device);
  const std::vector<LayerShape> shapes = LayerShapes(spec);
  for (const LayerShape& shape : shapes) {
    // The output layer is always in fp32: in bf16, estimates near 20 would be multiples of 1/8, and
    // searches would rank states by chance.
    const bool is_output = &shape == &shapes.back();
    const bool is_gathered = gathers && &shape == &shapes.front();
    layers_.emplace_back(shape, is_output || is_gathered ? at::kFloat : type_, device);
  }
  if (!gathers) return;
  gathered_.emplace(spec.input, device);
  // The weights of one feature, which are a column of the matrix, are contiguous.
  at::Tensor& weight = layers_.front().weight;
  weight = at::empty({weight.size(1), weight.size(0)}, weight.options()).t();
}

void ResNetFCCopy::Load(const Network& net) {
  const auto* resnet = dynamic_cast<const ResNetFC*>(&net);
  if (resnet == nullptr) {
    throw Error("ResNetFCCopy: the network is of another kind; this is a bug in Tandem");
  }
  for (std::size_t i = 0; i < layers_.size(); ++i) layers_[i].Load(*resnet->layers()[i]);
}

at::Tensor ResNetFCCopy::ApplyFirst(const at::Tensor& bytes) const {
  const Layer& first = layers_.front();
  if (!gathered_) return first(one_hot_(bytes));
  return first.Normalise((*gathered_)(bytes, first.weight.t()).add_(first.bias)).to(type_);
}

at::Tensor ResNetFCCopy::Forward(const at::Tensor& bytes) {
  CheckInputs(bytes, input_depth_, "evaluation");
  const at::Tensor hidden =
      ResNetHidden(config_, bytes, [this](std::size_t i, const at::Tensor& x) {
        return i == 0 ? ApplyFirst(x) : layers_[i](x);
      });
  return layers_.back()(hidden.to(at::kFloat));
}

StateDict ResNetFCCopy::State() const {
  StateDict state;
  for (const Layer& layer : layers_) {
    state.emplace_back(layer.name + ".weight", layer.weight);
    state.emplace_back(layer.name + ".bias", layer.bias);
    if (layer.norm_weight.defined()) {
      state.emplace_back(layer.name + ".norm_weight", layer.norm_weight);
    }
    if (layer.norm_bias.defined()) state.emplace_back(layer.name + ".norm_bias", layer.norm_bias);
  }
  return state;
}

std::unique_ptr<NetworkCopy> MakeResNetFCCopy(const NetworkSpec& spec,
                                              const InferenceConfig& config, const Device& device) {
  if (config.forward == InferenceForward::kTensors) return MakeTensorCopy(spec, config, device);
  if (UsesFusedCopy(spec, config, device.torch())) return MakeFusedCopy(spec, config.precision);
  return std::make_unique<ResNetFCCopy>(spec, config, device.torch());
}

}  // namespace tandem
