#include "nn/resnet_fc_copy.h"

#include <ATen/ops/linear.h>
#include <fmt/format.h>

#include <cstddef>
#include <optional>

#include "nn/device.h"
#include "nn/folded_layers.h"
#include "nn/fused/fused_copy.h"
#include "nn/fused/fused_support.h"
#include "nn/resnet_fc.h"
#include "nn/tensors/tensor_copy.h"
#include "nn/tensors/tensor_step.h"
#include "tandem/error.h"

namespace tandem {
namespace {

// The copy by LibTorch's operators. The weights may be in bf16 (FoldedLayers).
class ResNetFCCopy final : public NetworkCopy {
 public:
  ResNetFCCopy(const NetworkSpec& spec, const InferenceConfig& config, c10::Device device)
      : activation_(spec.layers.activation),
        input_(spec.input),
        type_(WeightType(config)),
        one_hot_(spec.input, type_, device),
        gathered_(GathersInInference(config, spec.input, device)
                      ? std::make_optional<GatheredFeatures>(spec.input, device)
                      : std::nullopt),
        layers_(spec, type_, gathered_.has_value(), device) {}

  void Load(const Network& net) override { layers_.Load(net); }
  StateDict State() const override { return layers_.State(); }

  at::Tensor Forward(const at::Tensor& bytes) override {
    CheckInputs(bytes, input_.depth, "evaluation");
    const at::Tensor hidden = RunHiddenLayers(layers_.shapes(), activation_, bytes,
                                              [this](std::size_t i, const at::Tensor& x) {
                                                return i == 0 ? ApplyFirst(x) : Apply(i, x);
                                              });
    return Apply(layers_.shapes().size() - 1, hidden.to(at::kFloat));
  }

 private:
  at::Tensor ApplyFirst(const at::Tensor& bytes) const {
    if (!gathered_) return Apply(0, one_hot_(bytes));
    const DenseTensors& first = layers_[0];
    return Normalise(0, (*gathered_)(bytes, first.weight.t()).add_(first.bias)).to(type_);
  }

  at::Tensor Apply(std::size_t layer, const at::Tensor& x) const {
    return Normalise(layer, at::linear(x, layers_[layer].weight, layers_[layer].bias));
  }

  at::Tensor Normalise(std::size_t layer, const at::Tensor& y) const {
    return NormaliseRows(layers_.shapes()[layer].norm, y, layers_[layer].norm_weight,
                         layers_[layer].norm_bias);
  }

  const Activation activation_;
  const InputLayout input_;
  const at::ScalarType type_;  // of the hidden layers
  const OneHot one_hot_;
  const std::optional<GatheredFeatures> gathered_;  // unset if the first layer is a product
  FoldedLayers layers_;
};

}  // namespace

std::string WhyNoForward(InferenceForward forward, const NetworkConfig& network,
                         Precision precision, const Device& device) {
  if (precision == Precision::kInt8 && forward != InferenceForward::kFused) {
    return "only inference.forward fused computes in int8";
  }
  if (precision == Precision::kFp8 && forward != InferenceForward::kTensors) {
    return "only inference.forward tensors computes in fp8";
  }
  switch (forward) {
    case InferenceForward::kOperators:
    case InferenceForward::kAuto:
      break;
    case InferenceForward::kFused:
      return WhyNotFused(network, precision, device.torch());
    case InferenceForward::kTensors:
      if (std::string why = WhyNoTensorStep(network, device); !why.empty()) return why;
      if (precision != Precision::kFp8 || device.has_fp8()) break;
      return fmt::format(
          "products in fp8 need a GPU of compute capability 8.9 or more, and this run uses {}",
          device.description());
  }
  return "";
}

std::unique_ptr<NetworkCopy> MakeResNetFCCopy(const NetworkSpec& spec,
                                              const InferenceConfig& config, const Device& device) {
  const std::string why = WhyNoForward(config.forward, spec.layers, config.precision, device);
  if (!why.empty()) {
    throw InputError(
        fmt::format("`inference.forward: {}` with `inference.precision: {}`: {}. Set both to auto",
                    NameOf(kInferenceForwards, config.forward),
                    NameOf(kInferencePrecisions, config.precision), why));
  }
  switch (config.forward) {
    case InferenceForward::kOperators:
      return std::make_unique<ResNetFCCopy>(spec, config, device.torch());
    case InferenceForward::kFused:
      return MakeFusedCopy(spec, config.precision);
    case InferenceForward::kTensors:
      return MakeTensorCopy(spec, config, device);
    case InferenceForward::kAuto:
      break;
  }
  throw Error("inference.forward is auto, expected a way of evaluating; this is a bug in Tandem");
}

}  // namespace tandem
