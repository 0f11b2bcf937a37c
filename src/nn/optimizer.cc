#include "nn/optimizer.h"

#include <ATen/ops/_foreach_mul.h>
#include <ATen/ops/_foreach_norm.h>
#include <ATen/ops/_fused_adam.h>
#include <ATen/ops/_fused_adamw.h>
#include <ATen/ops/linalg_vector_norm.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>
#include <c10/core/GradMode.h>

#include <cmath>
#include <numbers>
#include <utility>

#include "base/timeline.h"
#include "tandem/error.h"

namespace tandem {
namespace {

// Scales the gradients so that their joint norm is at most `most`. The host never reads the norm,
// because that would make it wait for the device.
void ClipToNorm(const std::vector<at::Tensor>& gradients, double most) {
  const Span span(Phase::kClipGradients);
  const at::Tensor norm = at::linalg_vector_norm(at::stack(at::_foreach_norm(gradients)), 2);
  const at::Tensor scale = (most / norm).clamp_max(1.0);
  at::_foreach_mul_(gradients, scale);
}

double Scheduled(const OptimizerConfig& config, std::int64_t iteration, double done) {
  const double fall = config.learning_rate - config.final_learning_rate;
  switch (config.schedule) {
    case Schedule::kConstant:
      return config.learning_rate;
    case Schedule::kLinear:
      return config.learning_rate - done * fall;
    case Schedule::kCosine:
      return config.final_learning_rate + 0.5 * (1 + std::cos(std::numbers::pi * done)) * fall;
    case Schedule::kExponential:
      return config.learning_rate * std::pow(config.decay, static_cast<double>(iteration));
  }
  return config.learning_rate;
}

}  // namespace

Optimizer::Optimizer(std::vector<at::Tensor> parameters, const OptimizerConfig& config)
    : config_(config), parameters_(std::move(parameters)) {
  for (const at::Tensor& parameter : parameters_) {
    mean_.push_back(at::zeros_like(parameter));
    mean_square_.push_back(at::zeros_like(parameter));
  }
  steps_ = at::zeros({}, parameters_.at(0).options().requires_grad(false));
}

void Optimizer::Step(double learning_rate) {
  const Span span(Phase::kOptimizer);  // declared first, so that it includes freeing the gradients
  const c10::NoGradGuard no_grad;
  std::vector<at::Tensor> gradients;
  for (const at::Tensor& parameter : parameters_) {
    if (!parameter.grad().defined()) {
      throw Error(
          "optimizer step: a parameter has no gradient; the loss must depend on all of them");
    }
    gradients.push_back(parameter.grad());
  }
  if (config_.max_grad_norm > 0) ClipToNorm(gradients, config_.max_grad_norm);
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

StateDict Optimizer::State(const std::vector<std::string>& names) const {
  StateDict state = {{"steps", steps_}};
  for (std::size_t i = 0; i < names.size(); ++i) {
    state.emplace_back("mean." + names[i], mean_[i]);
    state.emplace_back("mean_square." + names[i], mean_square_[i]);
  }
  return state;
}

double LearningRate(const OptimizerConfig& config, std::int64_t iteration, double done) {
  const double rate = Scheduled(config, iteration, done);
  if (iteration >= config.warmup_iterations) return rate;
  return rate * static_cast<double>(iteration + 1) /
         static_cast<double>(config.warmup_iterations + 1);
}

}  // namespace tandem
