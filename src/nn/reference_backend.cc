#include "nn/reference_backend.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/linear.h>

#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/timeline.h"
#include "nn/resnet_fc.h"
#include "nn/threads.h"
#include "nn/training_loss.h"

namespace tandem {
namespace {

class AutogradStep final : public GradientStep {
 public:
  AutogradStep(Network& net, const TrainingConfig& config, c10::Device device, bool gathers)
      : net_(net),
        device_(device),
        parts_(config.accumulation_steps),
        bf16_(config.precision == Precision::kBf16),
        loss_(net.spec().layers.head, config),
        one_hot_(net.spec().input, bf16_ ? at::kBFloat16 : at::kFloat, device) {
    if (gathers) {
      gathered_.emplace(net.spec().input, device);
      resnet_ = &dynamic_cast<ResNetFC&>(net);
    }
  }

  at::Tensor SetGradients(const at::Tensor& inputs, const at::Tensor& targets,
                          const at::Tensor& weights) override {
    CheckInputs(inputs, net_.spec().input.depth, "training step");
    at::Tensor mean;
    for (std::int64_t part = 0; part < parts_; ++part) {
      at::Tensor loss = LossOfPart(part, inputs, targets, weights);
      const Span span(Activity::kBackward);
      loss.backward();
      mean = part == 0 ? loss.detach() : mean + loss.detach();
      loss.reset();  // frees the autograd graph before the next part's forward pass
    }
    return mean;
  }

 private:
  // The contribution of part `part` to the mean loss of the batch.
  at::Tensor LossOfPart(std::int64_t part, const at::Tensor& inputs, const at::Tensor& targets,
                        const at::Tensor& weights) {
    const Span span(Activity::kForward);
    if (parts_ == 1) return Loss(inputs, targets, weights);
    const std::int64_t rows = targets.size(0) / parts_;
    const auto rows_of = [&](const at::Tensor& tensor) {
      return tensor.narrow(0, part * rows, rows);
    };
    if (!weights.defined()) {
      return Loss(rows_of(inputs), rows_of(targets), {}) / static_cast<double>(parts_);
    }
    const at::Tensor of_part = rows_of(weights);
    return Loss(rows_of(inputs), rows_of(targets), of_part) *
           (of_part.sum() / TrainingLoss::SumOf(weights));
  }

  at::Tensor Loss(const at::Tensor& inputs, const at::Tensor& targets, const at::Tensor& weights) {
    at::Tensor outputs;
    {
      const ScopedAutocast autocast(device_.type(), bf16_);
      outputs = gathered_ ? resnet_->ForwardGathered(inputs, *gathered_)
                          : ForwardChecked(net_, one_hot_, inputs);
    }
    return loss_.Differentiable(outputs, targets, weights);
  }

  Network& net_;
  const c10::Device device_;
  const std::int64_t parts_;
  const bool bf16_;
  const TrainingLoss loss_;
  const OneHot one_hot_;
  std::optional<GatheredFeatures> gathered_;  // unset if the first layer is a product
  ResNetFC* resnet_ = nullptr;                // the network if its first layer is gathered
};

class OperatorCopy final : public NetworkCopy {
 public:
  OperatorCopy(const NetworkSpec& spec, const InferenceConfig& config, c10::Device device,
               bool gathers)
      : activation_(spec.layers.activation),
        input_(spec.input),
        type_(WeightType(config)),
        one_hot_(spec.input, type_, device),
        gathered_(gathers ? std::make_optional<GatheredFeatures>(spec.input, device)
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

class ReferenceBackend final : public Backend {
 public:
  bool IsFastOn(const Device& /*device*/) const override { return false; }

  std::string WhyNot(const NetworkConfig& /*network*/, Precision /*precision*/,
                     const Device& /*device*/) const override {
    return "";
  }

  std::unique_ptr<GradientStep> MakeStep(Network& net, const TrainingConfig& config,
                                         Device& device) const override {
    const bool gathers = IsFullyConnected(net.spec().layers.kind) &&
                         GathersInTraining(net.spec().input, device.torch());
    return MakeAutogradStep(net, config, device.torch(), gathers);
  }

  std::unique_ptr<NetworkCopy> MakeCopy(const NetworkSpec& spec, const InferenceConfig& config,
                                        const Device& device) const override {
    return MakeNetworkCopy(spec, config, device);
  }
};

TANDEM_REGISTER_BACKEND(kReference, ReferenceBackend);

}  // namespace

bool GathersInTraining(InputLayout layout, c10::Device device) {
  return device.is_cpu() && layout.depth >= kManyValuesInTraining;
}

bool GathersInInference(InputLayout layout, c10::Device device) {
  return device.is_cpu() && layout.depth >= 4;
}

std::unique_ptr<GradientStep> MakeAutogradStep(Network& net, const TrainingConfig& config,
                                               c10::Device device, bool gathers) {
  return std::make_unique<AutogradStep>(net, config, device, gathers);
}

std::unique_ptr<NetworkCopy> MakeOperatorCopy(const NetworkSpec& spec,
                                              const InferenceConfig& config, c10::Device device,
                                              bool gathers) {
  return std::make_unique<OperatorCopy>(spec, config, device, gathers);
}

}  // namespace tandem
