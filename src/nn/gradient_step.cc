#include "nn/gradient_step.h"

#include <fmt/format.h>

#include "nn/autograd_step.h"
#include "nn/fused/fused_step.h"
#include "nn/fused/fused_support.h"
#include "nn/optimizer.h"
#include "nn/resnet_fc.h"
#include "nn/tensors/tensor_step.h"
#include "tandem/error.h"

namespace tandem {

at::Tensor GradientStep::Step(const at::Tensor& inputs, const at::Tensor& targets,
                              const at::Tensor& weights, const Update& update) {
  at::Tensor loss = SetGradients(inputs, targets, weights);
  if (update.reduce) loss = update.reduce(loss);
  update.optimizer.Step(update.learning_rate);
  return loss;
}

std::string WhyNoStep(TrainStep step, const NetworkConfig& network, Precision precision,
                      const Device& device) {
  switch (step) {
    case TrainStep::kAutograd:
    case TrainStep::kAuto:
      break;
    case TrainStep::kFused:
      return WhyNotFused(network, precision, device.torch());
    case TrainStep::kTensors:
    case TrainStep::kCaptured:
      return WhyNoTensorStep(network, device);
  }
  return "";
}

std::unique_ptr<GradientStep> MakeGradientStep(Network& net, const TrainingConfig& config,
                                               Device& device) {
  const std::string why = WhyNoStep(config.step, net.spec().layers, config.precision, device);
  if (!why.empty()) {
    throw InputError(fmt::format("`train.step: {}`: {}. Set train.step to autograd or auto",
                                 NameOf(kTrainSteps, config.step), why));
  }
  switch (config.step) {
    case TrainStep::kAutograd:
      return std::make_unique<AutogradStep>(net, config, device.torch());
    case TrainStep::kFused:
      return MakeFusedStep(dynamic_cast<ResNetFC&>(net), config);
    case TrainStep::kTensors:
    case TrainStep::kCaptured:
      return MakeTensorStep(dynamic_cast<ResNetFC&>(net), config, device);
    case TrainStep::kAuto:
      break;
  }
  throw Error("train.step is auto, expected a step");
}

}  // namespace tandem
