#include "nn/autograd_step.h"

#include <ATen/TensorOperators.h>

#include "base/timeline.h"
#include "nn/threads.h"

namespace tandem {

AutogradStep::AutogradStep(Network& net, const TrainingConfig& config, c10::Device device)
    : net_(net),
      device_(device),
      parts_(config.accumulation_steps),
      bf16_(config.precision == Precision::kBf16),
      loss_(net.spec().layers.head, config),
      one_hot_(net.spec().input, bf16_ ? at::kBFloat16 : at::kFloat, device) {
  if (GathersInTraining(config, net.spec().input, device)) {
    gathered_.emplace(net.spec().input, device);
    resnet_ = &dynamic_cast<ResNetFC&>(net);
  }
}

at::Tensor AutogradStep::SetGradients(const at::Tensor& inputs, const at::Tensor& targets,
                                      const at::Tensor& weights) {
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

// The contribution of part `part` to the mean loss of the batch.
at::Tensor AutogradStep::LossOfPart(std::int64_t part, const at::Tensor& inputs,
                                    const at::Tensor& targets, const at::Tensor& weights) {
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

at::Tensor AutogradStep::Loss(const at::Tensor& inputs, const at::Tensor& targets,
                              const at::Tensor& weights) {
  at::Tensor outputs;
  {
    const ScopedAutocast autocast(device_.type(), bf16_);
    outputs = gathered_ ? resnet_->ForwardGathered(inputs, *gathered_)
                        : ForwardChecked(net_, one_hot_(inputs));
  }
  return loss_.Differentiable(outputs, targets, weights);
}

}  // namespace tandem
