#include "nn/optimizer.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/_foreach_lerp.h>
#include <ATen/ops/_foreach_mul.h>
#include <ATen/ops/_foreach_norm.h>
#include <ATen/ops/_fused_adamw.h>
#include <ATen/ops/linalg_vector_norm.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/timeline.h"
#include "nn/gpu/pass_runner.h"
#include "nn/resnet_fc.h"
#include "tandem/error.h"

namespace tandem {

namespace {

// Scales the gradients so that their joint norm is at most `most`. The host never reads the norm,
// because that would make it wait for the device.
void ClipToNorm(const std::vector<at::Tensor>& gradients, double most) {
  const Span span(Activity::kClipGradients);
  const at::Tensor norm = at::linalg_vector_norm(at::stack(at::_foreach_norm(gradients)), 2);
  const at::Tensor scale = (most / norm).clamp_max(1.0);
  at::_foreach_mul_(gradients, scale);
}

// The block of memory that tensors are views of, one after another, from the first one on.
// LibTorch's fused kernels hand out their work to threads once for each tensor, which takes longer
// than the work on a small one.
at::Tensor BlockOf(const std::vector<at::Tensor>& views, std::int64_t numbers) {
  const at::Tensor& first = views.front();
  return first.detach().as_strided({numbers}, {1}, first.storage_offset());
}

double Scheduled(const OptimizerConfig& config, const SchedulePoint& point) {
  switch (config.schedule) {
    case Schedule::kConstant:
      return config.learning_rate;
    case Schedule::kLinear:
      return config.learning_rate -
             point.done * (config.learning_rate - config.final_learning_rate);
    case Schedule::kExponential:
      return config.learning_rate * std::pow(config.decay, static_cast<double>(point.iteration));
  }
  return config.learning_rate;
}

}  // namespace

Optimizer::Optimizer(std::vector<at::Tensor> parameters, const OptimizerConfig& config,
                     FlatParameters* flat, const PassRunner* passes)
    : config_(config), parameters_(std::move(parameters)), flat_(flat), passes_(passes) {
  for (std::vector<at::Tensor>* means : {&mean_, &mean_square_}) {
    if (flat != nullptr) {
      *means = flat->ViewsOf(at::zeros_like(flat->values()));
    } else {
      for (const at::Tensor& parameter : parameters_) means->push_back(at::zeros_like(parameter));
    }
  }
  steps_ = at::zeros({}, parameters_.at(0).options().requires_grad(false));
  rate_ = at::zeros_like(steps_);
}

void Optimizer::SetDeviceRate(double learning_rate) { rate_.fill_(learning_rate); }

void Optimizer::StepAtDeviceRate() {
  const Span span(Activity::kOptimizer);
  const c10::NoGradGuard no_grad;
  CheckedGradients();
  steps_.add_(1);
  const at::Tensor& values = flat_->values();
  const at::Tensor& copies = flat_->copies();
  passes_->Run(
      AdamPass{.count = values.numel(),
               .parameters = values.mutable_data_ptr<float>(),
               .gradients = flat_->gradients().const_data_ptr<float>(),
               .mean = mean_.front().mutable_data_ptr<float>(),
               .mean_square = mean_square_.front().mutable_data_ptr<float>(),
               .copies = copies.defined() ? static_cast<Bf16*>(copies.data_ptr()) : nullptr,
               .steps = steps_.const_data_ptr<float>(),
               .rate = rate_.const_data_ptr<float>(),
               .beta1 = config_.beta1,
               .beta2 = config_.beta2,
               .weight_decay = static_cast<float>(config_.weight_decay),
               .epsilon = static_cast<float>(config_.epsilon)});
  ClearGradients();
}

std::vector<at::Tensor> Optimizer::CheckedGradients() const {
  std::vector<at::Tensor> gradients;
  for (const at::Tensor& parameter : parameters_) {
    if (!parameter.grad().defined()) {
      throw Error(
          "optimizer step: a parameter has no gradient; the loss must depend on all of them");
    }
    gradients.push_back(parameter.grad());
  }
  if (config_.max_grad_norm > 0) ClipToNorm(gradients, config_.max_grad_norm);
  return gradients;
}

void Optimizer::Step(double learning_rate) {
  const Span span(Activity::kOptimizer);  // first, so that it includes freeing the gradients
  const c10::NoGradGuard no_grad;
  const std::vector<at::Tensor> gradients = CheckedGradients();
  steps_.add_(1);
  const auto step =
      [&](const std::vector<at::Tensor>& parameters, const std::vector<at::Tensor>& of_parameters,
          const std::vector<at::Tensor>& mean, const std::vector<at::Tensor>& mean_square) {
        const std::vector<at::Tensor> steps(parameters.size(), steps_);
        at::_fused_adamw_(parameters, of_parameters, mean, mean_square, {}, steps, learning_rate,
                          config_.beta1, config_.beta2, config_.weight_decay, config_.epsilon,
                          /*amsgrad=*/false, /*maximize=*/false);
      };
  if (flat_ != nullptr) {
    const std::int64_t numbers = flat_->values().numel();
    step({flat_->values()}, {BlockOf(gradients, numbers)}, {BlockOf(mean_, numbers)},
         {BlockOf(mean_square_, numbers)});
    flat_->SetCopies();
  } else {
    step(parameters_, gradients, mean_, mean_square_);
  }
  ClearGradients();
}

void Optimizer::ClearGradients() {
  for (const at::Tensor& parameter : parameters_) parameter.mutable_grad().reset();
}

StateDict Optimizer::State(const std::vector<std::string>& names) const {
  StateDict state = {{"steps", steps_}};
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    state.emplace_back("mean." + names.at(i), mean_[i]);
    state.emplace_back("mean_square." + names.at(i), mean_square_[i]);
  }
  return state;
}

double LearningRate(const OptimizerConfig& config, const SchedulePoint& point) {
  const double rate = Scheduled(config, point);
  if (point.iteration >= config.warmup_iterations) return rate;
  return rate * static_cast<double>(point.iteration + 1) /
         static_cast<double>(config.warmup_iterations + 1);
}

namespace {

std::vector<at::Tensor> TensorsOf(const Network& net) {
  std::vector<at::Tensor> tensors;
  for (const auto& [name, tensor] : net.State()) tensors.push_back(tensor.detach());
  return tensors;
}

}  // namespace

WeightAverage::WeightAverage(const Network& net, double decay)
    : net_(MakeNetwork(net.spec(), /*seed=*/0)), decay_(decay) {
  const c10::NoGradGuard no_grad;
  net_->To(net.parameters().front().device());
  const std::vector<at::Tensor> from = TensorsOf(net);
  const std::vector<at::Tensor> into = TensorsOf(*net_);
  for (std::size_t i = 0; i < from.size(); ++i) into[i].copy_(from[i]);
}

void WeightAverage::Add(const Network& net, std::int64_t iteration) {
  const c10::NoGradGuard no_grad;
  const auto n = static_cast<double>(iteration);
  const double decay = std::min(decay_, (1 + n) / (10 + n));
  const std::vector<at::Tensor> from = TensorsOf(net);
  const std::vector<at::Tensor> into = TensorsOf(*net_);
  std::vector<at::Tensor> averages;
  std::vector<at::Tensor> newest;
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (into[i].is_floating_point()) {
      averages.push_back(into[i]);
      newest.push_back(from[i]);
    } else {
      into[i].copy_(from[i]);  // such as the number of batches that batch normalisation has seen
    }
  }
  at::_foreach_lerp_(averages, newest, 1 - decay);
}

}  // namespace tandem
