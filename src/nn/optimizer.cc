#include "nn/optimizer.h"

#include <ATen/ops/_fused_adam.h>
#include <ATen/ops/_fused_adamw.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "tandem/error.h"

namespace tandem {

Optimizer::Optimizer(std::vector<at::Tensor> parameters, const OptimizerConfig& config)
    : config_(config), parameters_(std::move(parameters)) {
  for (const at::Tensor& parameter : parameters_) {
    mean_.push_back(at::zeros_like(parameter));
    mean_square_.push_back(at::zeros_like(parameter));
  }
  steps_ = at::zeros({}, parameters_.at(0).options().requires_grad(false));
}

void Optimizer::Step(double learning_rate) {
  const c10::NoGradGuard no_grad;
  std::vector<at::Tensor> gradients;
  for (const at::Tensor& parameter : parameters_) {
    if (!parameter.grad().defined()) throw Error("a parameter got no gradient");
    gradients.push_back(parameter.grad());
  }
  steps_.add_(1);
  const std::vector<at::Tensor> steps(parameters_.size(), steps_);
  if (config_.name == OptimizerKind::kAdam) {
    at::_fused_adam_(parameters_, gradients, mean_, mean_square_, {}, steps, learning_rate,
                     config_.beta1, config_.beta2, config_.weight_decay, config_.epsilon,
                     /*amsgrad=*/false, /*maximize=*/false);
  } else {
    at::_fused_adamw_(parameters_, gradients, mean_, mean_square_, {}, steps, learning_rate,
                      config_.beta1, config_.beta2, config_.weight_decay, config_.epsilon,
                      /*amsgrad=*/false, /*maximize=*/false);
  }
  for (const at::Tensor& parameter : parameters_) parameter.mutable_grad().reset();
}

double LearningRate(const OptimizerConfig& config, std::int64_t iteration,
                    std::int64_t iterations) {
  switch (config.schedule) {
    case Schedule::kConstant:
      return config.learning_rate;
    case Schedule::kLinear: {
      const double last = static_cast<double>(std::max<std::int64_t>(iterations - 1, 1));
      const double done = static_cast<double>(iteration) / last;
      return config.learning_rate + done * (config.final_learning_rate - config.learning_rate);
    }
    case Schedule::kExponential:
      return config.learning_rate * std::pow(config.decay, static_cast<double>(iteration));
  }
  return config.learning_rate;
}

}  // namespace tandem
