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
#include <numbers>
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

// The memory of all tensors as one, if each begins where the previous one ends; else the tensors.
// LibTorch's fused kernels hand out their work to threads once for each tensor, which takes longer
// than the work on a small one.
std::vector<at::Tensor> Joined(const std::vector<at::Tensor>& tensors) {
  if (tensors.size() < 2) return tensors;
  const at::Tensor& first = tensors.front();
  std::int64_t end = first.storage_offset();
  for (const at::Tensor& tensor : tensors) {
    const bool follows = tensor.is_alias_of(first) && tensor.storage_offset() == end &&
                         tensor.is_non_overlapping_and_dense();
    if (!follows) return tensors;
    end += tensor.numel();
  }
  return {first.detach().as_strided({end - first.storage_offset()}, {1}, first.storage_offset())};
}

double Scheduled(const OptimizerConfig& config, const SchedulePoint& point) {
  const double fall = config.learning_rate - config.final_learning_rate;
  switch (config.schedule) {
    case Schedule::kConstant:
      return config.learning_rate;
    case Schedule::kLinear:
      return config.learning_rate - point.done * fall;
    case Schedule::kCosine:
      return config.final_learning_rate +
             0.5 * (1 + std::cos(std::numbers::pi * point.done)) * fall;
    case Schedule::kExponential:
      return config.learning_rate * std::pow(config.decay, static_cast<double>(point.iteration));
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
  JoinMeans();
  steps_ = at::zeros({}, parameters_.at(0).options().requires_grad(false));
}

// If the parameters follow each other in memory (FlatParameters), lets their means do so too.
void Optimizer::JoinMeans() {
  const std::vector<at::Tensor> joined = Joined(parameters_);
  if (joined.size() == parameters_.size()) return;
  const at::Tensor& first = parameters_.front();
  for (std::vector<at::Tensor>* means : {&mean_, &mean_square_}) {
    const at::Tensor flat = at::zeros_like(joined.front());
    for (std::size_t i = 0; i < means->size(); ++i) {
      const at::Tensor& parameter = parameters_[i];
      (*means)[i] = flat.as_strided(parameter.sizes(), parameter.strides(),
                                    parameter.storage_offset() - first.storage_offset());
    }
  }
}

void Optimizer::UseFlat(FlatParameters& flat, const PassRunner& passes) {
  flat_ = &flat;
  passes_ = &passes;
  rate_ = at::zeros({}, steps_.options());
}

void Optimizer::SetDeviceRate(double learning_rate) { rate_.fill_(learning_rate); }

// The gradients are those of the block (FlatParameters), and so are the means (JoinMeans).
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
  const std::vector<at::Tensor> parameters = Joined(parameters_);
  const std::vector<at::Tensor> of_parameters = Joined(gradients);
  if (parameters.size() == of_parameters.size()) {
    step(parameters, of_parameters, Joined(mean_), Joined(mean_square_));
  } else {
    step(parameters_, gradients, mean_, mean_square_);
  }
  if (flat_ != nullptr) flat_->SetCopies();
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
