#include "nn/optimizer.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/_foreach_mul.h>
#include <ATen/ops/_foreach_norm.h>
#include <ATen/ops/_fused_adam.h>
#include <ATen/ops/_fused_adamw.h>
#include <ATen/ops/_fused_sgd.h>
#include <ATen/ops/addmm.h>
#include <ATen/ops/linalg_vector_norm.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "base/timeline.h"
#include "nn/flat_parameters.h"
#include "nn/tensors/pass_runner.h"
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

double RateOf(double learning_rate, double factor) { return learning_rate * factor; }
at::Tensor RateOf(const at::Tensor& learning_rate, double factor) {
  return factor == 1 ? learning_rate : learning_rate * factor;
}

// The numbers of the parameters that are matrices, without the first and the last.
std::vector<std::size_t> HiddenMatrices(const std::vector<at::Tensor>& parameters) {
  std::vector<std::size_t> matrices;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (parameters[i].dim() == 2) matrices.push_back(i);
  }
  if (matrices.size() < 3) return {};
  return {matrices.begin() + 1, matrices.end() - 1};
}

std::vector<at::Tensor> Selected(const std::vector<at::Tensor>& tensors,
                                 const std::vector<std::size_t>& numbers) {
  std::vector<at::Tensor> selected;
  selected.reserve(numbers.size());
  for (const std::size_t number : numbers) selected.push_back(tensors[number]);
  return selected;
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
    case Schedule::kStep: {
      const std::int64_t steps = point.update / config.step_every;
      return config.learning_rate * std::pow(config.step_factor, static_cast<double>(steps));
    }
    case Schedule::kWsd: {  // Hu et al., "MiniCPM", 2024: warm-up, stable, decay
      const double decayed = (point.done - (1 - config.decay_share)) / config.decay_share;
      return config.learning_rate - std::clamp(decayed, 0.0, 1.0) * fall;
    }
  }
  return config.learning_rate;
}

}  // namespace

Optimizer::Optimizer(std::vector<at::Tensor> parameters, const OptimizerConfig& config)
    : config_(config), parameters_(std::move(parameters)) {
  const std::vector<std::size_t> hidden = HiddenMatrices(parameters_);
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    Add(i, MethodOf(std::ranges::count(hidden, i) > 0));
  }
  for (Group& group : groups_) {
    if (IsAdam(group.method)) JoinMeans(group);
  }
  steps_ = at::zeros({}, parameters_.at(0).options().requires_grad(false));
}

// If the parameters follow each other in memory (FlatParameters), lets their means do so too.
void Optimizer::JoinMeans(Group& group) {
  const std::vector<at::Tensor> joined = Joined(group.parameters);
  if (joined.size() == group.parameters.size()) return;
  const at::Tensor& first = group.parameters.front();
  for (std::vector<at::Tensor>* means : {&group.mean, &group.mean_square}) {
    const at::Tensor flat = at::zeros_like(joined.front());
    for (std::size_t i = 0; i < means->size(); ++i) {
      const at::Tensor& parameter = group.parameters[i];
      (*means)[i] = flat.as_strided(parameter.sizes(), parameter.strides(),
                                    parameter.storage_offset() - first.storage_offset());
    }
  }
}

Optimizer::Factors Optimizer::FactorsOf(std::size_t number) const {
  const auto is_weight = [](const at::Tensor& parameter) { return parameter.dim() > 1; };
  const auto before = parameters_.begin() + static_cast<std::ptrdiff_t>(number);
  const auto weights_until = std::count_if(parameters_.begin(), before + 1, is_weight);
  const auto weights = std::ranges::count_if(parameters_, is_weight);
  Factors factors;
  if (weights_until == weights && weights > 0) {
    factors = {.learning_rate = config_.output_layer_lr_factor,
               .weight_decay = config_.output_layer_weight_decay_factor};
  } else if (weights_until <= 1 && weights > 0) {
    factors = {.learning_rate = config_.first_layer_lr_factor,
               .weight_decay = config_.first_layer_weight_decay_factor};
  }
  if (!is_weight(parameters_[number])) factors.weight_decay *= config_.bias_weight_decay_factor;
  return factors;
}

Optimizer::Method Optimizer::MethodOf(bool is_hidden_matrix) const {
  switch (config_.name) {
    case OptimizerKind::kAdam:
      return Method::kAdam;
    case OptimizerKind::kAdamW:
      return Method::kAdamW;
    case OptimizerKind::kSgd:
      return Method::kSgd;
    case OptimizerKind::kMuon:
      return is_hidden_matrix ? Method::kMuon : Method::kAdamW;
  }
  throw Error("optimizer.name is not known; this is a bug in Tandem");
}

void Optimizer::Add(std::size_t number, Method method) {
  const Factors factors = FactorsOf(number);
  auto group = std::ranges::find_if(
      groups_, [&](const Group& each) { return each.method == method && each.factors == factors; });
  if (group == groups_.end()) {
    group = groups_.insert(groups_.end(), Group{.method = method, .factors = factors});
  }
  const at::Tensor& parameter = parameters_[number];
  group->numbers.push_back(number);
  group->parameters.push_back(parameter);
  group->mean.push_back(at::zeros_like(parameter));
  if (IsAdam(method)) group->mean_square.push_back(at::zeros_like(parameter));
}

template <class Rate>
void Optimizer::StepAdam(const Group& group, const std::vector<at::Tensor>& gradients,
                         const Rate& learning_rate) const {
  const Rate rate = RateOf(learning_rate, group.factors.learning_rate);
  const double decay = config_.weight_decay * group.factors.weight_decay;
  const auto step =
      [&](const std::vector<at::Tensor>& parameters, const std::vector<at::Tensor>& of_parameters,
          const std::vector<at::Tensor>& mean, const std::vector<at::Tensor>& mean_square) {
        const std::vector<at::Tensor> steps(parameters.size(), steps_);
        if (group.method == Method::kAdam) {
          at::_fused_adam_(parameters, of_parameters, mean, mean_square, {}, steps, rate,
                           config_.beta1, config_.beta2, decay, config_.epsilon, /*amsgrad=*/false,
                           /*maximize=*/false);
        } else {
          at::_fused_adamw_(parameters, of_parameters, mean, mean_square, {}, steps, rate,
                            config_.beta1, config_.beta2, decay, config_.epsilon, /*amsgrad=*/false,
                            /*maximize=*/false);
        }
      };
  const std::vector<at::Tensor> parameters = Joined(group.parameters);
  const std::vector<at::Tensor> of_parameters = Joined(gradients);
  if (parameters.size() == of_parameters.size()) {
    step(parameters, of_parameters, Joined(group.mean), Joined(group.mean_square));
  } else {
    step(group.parameters, gradients, group.mean, group.mean_square);
  }
}

void Optimizer::UseFlat(FlatParameters& flat, const PassRunner& passes) {
  flat_ = &flat;
  passes_ = &passes;
  rate_ = at::zeros({}, steps_.options());
}

bool Optimizer::is_capturable() const {
  return flat_ != nullptr &&
         std::ranges::all_of(groups_, [](const Group& group) { return IsAdam(group.method); });
}

bool Optimizer::uses_adam() const {
  return std::ranges::any_of(groups_, [](const Group& group) { return IsAdam(group.method); });
}

void Optimizer::SetDeviceRate(double learning_rate) { rate_.fill_(learning_rate); }

void Optimizer::StepAtDeviceRate() {
  const Span span(Activity::kOptimizer);
  const c10::NoGradGuard no_grad;
  const std::vector<at::Tensor> gradients = CheckedGradients();
  steps_.add_(1);
  if (!TryStepAtOnce(gradients)) {
    for (const Group& group : groups_) StepAdam(group, Selected(gradients, group.numbers), rate_);
    flat_->SetCopies();
  }
  ClearGradients();
}

// Steps all parameters in one pass. Returns false, having done nothing, if their factors differ, or
// if gradients or means are not each in one block.
bool Optimizer::TryStepAtOnce(const std::vector<at::Tensor>& gradients) const {
  if (groups_.size() > 1) return false;
  const Group& group = groups_.front();
  const std::vector<at::Tensor> of_parameters = Joined(gradients);
  const std::vector<at::Tensor> mean = Joined(group.mean);
  const std::vector<at::Tensor> mean_square = Joined(group.mean_square);
  if (of_parameters.size() > 1 || mean.size() > 1 || mean_square.size() > 1) return false;
  const at::Tensor& values = flat_->values();
  const at::Tensor& copies = flat_->copies();
  if (of_parameters.front().numel() != values.numel()) return false;
  const at::Tensor rate = RateOf(rate_, group.factors.learning_rate);
  passes_->Run(AdamPass{
      .count = values.numel(),
      .parameters = values.mutable_data_ptr<float>(),
      .gradients = of_parameters.front().const_data_ptr<float>(),
      .mean = mean.front().mutable_data_ptr<float>(),
      .mean_square = mean_square.front().mutable_data_ptr<float>(),
      .copies = copies.defined() ? static_cast<Bf16*>(copies.data_ptr()) : nullptr,
      .steps = steps_.const_data_ptr<float>(),
      .rate = rate.const_data_ptr<float>(),
      .beta1 = config_.beta1,
      .beta2 = config_.beta2,
      .weight_decay = static_cast<float>(config_.weight_decay * group.factors.weight_decay),
      .epsilon = static_cast<float>(config_.epsilon),
      .decoupled = group.method == Method::kAdamW});
  return true;
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
  if (uses_adam()) steps_.add_(1);
  for (const Group& group : groups_) {
    StepGroup(group, Selected(gradients, group.numbers), learning_rate);
  }
  if (flat_ != nullptr) flat_->SetCopies();
  ClearGradients();
}

void Optimizer::StepGroup(const Group& group, const std::vector<at::Tensor>& gradients,
                          double learning_rate) const {
  switch (group.method) {
    case Method::kAdam:
    case Method::kAdamW:
      return StepAdam(group, gradients, learning_rate);
    case Method::kSgd:
      return StepSgd(group, gradients, learning_rate);
    case Method::kMuon:
      return StepMuon(group, gradients,
                      config_.muon_learning_rate * learning_rate / config_.learning_rate);
  }
}

void Optimizer::ClearGradients() {
  for (const at::Tensor& parameter : parameters_) parameter.mutable_grad().reset();
}

void Optimizer::StepSgd(const Group& group, const std::vector<at::Tensor>& gradients,
                        double learning_rate) const {
  // LibTorch's kernel expects no momentum tensors if there is no momentum.
  const std::vector<at::Tensor> none;
  at::_fused_sgd_(group.parameters, gradients, config_.momentum > 0 ? group.mean : none,
                  config_.weight_decay * group.factors.weight_decay, config_.momentum,
                  learning_rate * group.factors.learning_rate, /*dampening=*/0,
                  /*nesterov=*/config_.nesterov && config_.momentum > 0, /*maximize=*/false,
                  /*is_first_step=*/false);
}

// The step of the author's program (https://github.com/KellerJordan/Muon), with Nesterov momentum
// and decoupled weight decay. A matrix with more rows than columns takes a longer step, so that the
// root mean square of the layer's outputs changes as much as for a square matrix.
void Optimizer::StepMuon(const Group& group, const std::vector<at::Tensor>& gradients,
                         double learning_rate) const {
  const double rate = learning_rate * group.factors.learning_rate;
  const double decay = config_.weight_decay * group.factors.weight_decay;
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    const at::Tensor& parameter = group.parameters[i];
    const at::Tensor& momentum = group.mean[i];
    momentum.lerp_(gradients[i], 1 - config_.momentum);
    const at::Tensor direction = Orthogonalised(gradients[i].lerp(momentum, config_.momentum));
    const double shape =
        static_cast<double>(parameter.size(0)) / static_cast<double>(parameter.size(1));
    parameter.mul_(1 - rate * decay);
    parameter.add_(direction, -rate * std::sqrt(std::max(1.0, shape)));
  }
}

StateDict Optimizer::State(const std::vector<std::string>& names) const {
  StateDict state;
  if (uses_adam()) state.emplace_back("steps", steps_);
  for (const Group& group : groups_) {
    const bool is_adam = IsAdam(group.method);
    for (std::size_t i = 0; i < group.numbers.size(); ++i) {
      const std::string& name = names.at(group.numbers[i]);
      state.emplace_back((is_adam ? "mean." : "momentum.") + name, group.mean[i]);
      if (is_adam) state.emplace_back("mean_square." + name, group.mean_square[i]);
    }
  }
  return state;
}

at::Tensor Orthogonalised(const at::Tensor& matrix) {
  constexpr int kIterations = 5;
  constexpr double kA = 3.4445;
  constexpr double kB = -4.7750;
  constexpr double kC = 2.0315;
  const c10::NoGradGuard no_grad;
  const bool is_tall = matrix.size(0) > matrix.size(1);
  // As the author's program does, use bf16 on a GPU. Many CPUs compute products in bf16 slowly.
  at::Tensor x = (is_tall ? matrix.t() : matrix).to(matrix.is_cpu() ? at::kFloat : at::kBFloat16);
  x = x / (at::linalg_vector_norm(x) + 1e-7);  // so that no singular value is above 1
  for (int i = 0; i < kIterations; ++i) {
    const at::Tensor square = at::mm(x, x.t());
    x = at::addmm(x, at::addmm(square, square, square, kB, kC), x, kA);
  }
  return (is_tall ? x.t() : x).to(matrix.scalar_type());
}

double LearningRate(const OptimizerConfig& config, const SchedulePoint& point) {
  const double rate = Scheduled(config, point);
  if (point.iteration >= config.warmup_iterations) return rate;
  return rate * static_cast<double>(point.iteration + 1) /
         static_cast<double>(config.warmup_iterations + 1);
}

}  // namespace tandem
