#include "train/trainer.h"

#include <ATen/ops/_foreach_norm.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/huber_loss.h>
#include <ATen/ops/mse_loss.h>
#include <ATen/ops/softplus.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros.h>
#include <c10/core/GradMode.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <optional>
#include <string_view>
#include <vector>

#include "base/fault_point.h"
#include "base/stopwatch.h"
#include "base/timeline.h"
#include "nn/products.h"
#include "nn/threads.h"
#include "tandem/error.h"

namespace tandem {
namespace {

// Blocks until the device has computed `scalar`.
double ValueOf(const at::Tensor& scalar) {
  const Span span(Phase::kWaitForDevice);
  return scalar.item<double>();
}

// The sum of all weights, for division: if all outputs are masked, the loss is 0 and not 0 / 0.
at::Tensor SumOf(const at::Tensor& weights) {
  return weights.sum().clamp_min(std::numeric_limits<float>::min());
}

at::Tensor LossOfPolicy(const at::Tensor& outputs, const at::Tensor& targets,
                        at::Reduction::Reduction reduction) {
  return at::cross_entropy_loss(outputs, targets, /*weight=*/{}, reduction);
}

// Whether all numbers are finite. Blocks until the device has computed them. The sum of the norms
// is finite only if each number is.
bool AllFinite(const std::vector<at::Tensor>& tensors) {
  const c10::NoGradGuard no_grad;
  return std::isfinite(ValueOf(at::stack(at::_foreach_norm(tensors)).sum()));
}

bool AllFinite(const StateDict& state) {
  std::vector<at::Tensor> tensors;
  for (const auto& [name, tensor] : state) {
    if (tensor.is_floating_point()) tensors.push_back(tensor);
  }
  return AllFinite(tensors);
}

// log(cosh(error)) of each output. cosh itself overflows for errors above 89.
at::Tensor LogCosh(const at::Tensor& outputs, const at::Tensor& targets) {
  const at::Tensor errors = outputs - targets;
  return errors + at::softplus(-2 * errors) - std::numbers::ln2;
}

std::string WhyNoStep(const Network& net, const TrainingConfig& config, Device& device) {
  return config.step == TrainStep::kFused
             ? WhyNotFused(net.spec().layers, config.precision, device.torch())
             : WhyNoTensorStep(net.spec().layers, device);
}

// Null for autograd. ResolveAutos must have replaced `auto`.
std::unique_ptr<FusedStep> MakeStep(Network& net, const TrainingConfig& config, Device& device) {
  if (config.step == TrainStep::kAutograd) return nullptr;
  if (config.step == TrainStep::kAuto) throw Error("train.step is auto, expected a step");
  if (const std::string why = WhyNoStep(net, config, device); !why.empty()) {
    throw InputError(fmt::format("`train.step: {}`: {}. Set train.step to autograd or auto",
                                 NameOf(kTrainSteps, config.step), why));
  }
  auto& resnet = dynamic_cast<ResNetFC&>(net);
  if (config.step == TrainStep::kFused) return MakeFusedStep(resnet, config);
  return MakeTensorStep(resnet, config, device);
}

constexpr std::int64_t kSampleRows = 256;

// Whether the rounding of inference copies is measured. A GPU has to wait for it, which only fp8 is
// worth. The average's copy, and one that takes actions, have other inputs or weights than the
// network in training.
bool MeasuresCopies(const Config& config, const Device& device) {
  const Precision precision = config.inference.precision;
  return (device.torch().is_cpu() || precision == Precision::kFp8) &&
         precision != Precision::kFp32 && !config.train.labels_with_average() &&
         !TakesAction(config.network.head);
}

}  // namespace

// The training on the rows of one update.
class TorchTrainer::Pass final : public TrainPass {
 public:
  Pass(TorchTrainer& trainer, std::int64_t update, const DataBuffer* rows)
      : set_up_(Phase::kSetUp),  // the first pass starts LibTorch's threads
        trainer_(trainer),
        update_(update),
        threads_(static_cast<int>(*trainer.config_.threads)),
        scope_(trainer.stream_->Enter()),
        batches_(trainer.loader_.Open(rows, update)),
        loss_sum_(at::zeros({}, at::TensorOptions().device(trainer.device_.torch()))),
        finite_iterations_(
            at::zeros({}, at::TensorOptions().dtype(at::kLong).device(trainer.device_.torch()))) {
    stats_.copy_error = trainer.copy_error_;
    set_up_.reset();
  }

  bool Step() override {
    if (stats_.iterations == trainer_.config_.iterations_per_update) return false;
    const std::int64_t iteration = iterations_of_run();
    const Section section("iteration", iteration);
    const Batch batch = NextBatch();
    stats_.learning_rate = trainer_.LearningRateAt(iteration, update_);
    const at::Tensor loss = trainer_.Step(batch, stats_.learning_rate);
    if (!loss.defined()) ++stats_.skipped;
    if (trainer_.average_ && loss.defined()) {
      const Span span(Phase::kOptimizer);
      trainer_.average_->Add(trainer_.net_, iteration);
    }
    const Span span(Phase::kReport);
    if (loss.defined()) loss_sum_ += loss;
    finite_iterations_ += loss_sum_.isfinite();
    ++stats_.iterations;
    stats_.examples += batch.targets.size(0) * trainer_.num_ranks();
    return true;
  }

  std::int64_t iterations_of_run() const override {
    return update_ * trainer_.config_.iterations_per_update + stats_.iterations;
  }

  TrainStats Finish() override {
    {
      const Span span(Phase::kWaitForBatch);
      batches_.reset();  // waits if a batch is being gathered
    }
    if (stats_.iterations == 0) return stats_;
    trainer_.AverageStatistics();
    // All ranks end the update after the same iteration.
    if (trainer_.reducer_ != nullptr) trainer_.reducer_->DecideStop();
    const Span span(Phase::kWaitForDevice);
    const std::int64_t used = stats_.iterations - stats_.skipped;
    if (used == 0 && stats_.iterations == trainer_.config_.iterations_per_update) {
      Fail(iterations_of_run() - 1, "in all iterations of the update a loss or gradient");
    }
    stats_.loss = ValueOf(loss_sum_) / static_cast<double>(std::max<std::int64_t>(used, 1));
    if (!std::isfinite(stats_.loss)) {
      Fail(update_ * trainer_.config_.iterations_per_update +
               finite_iterations_.item<std::int64_t>(),
           "the loss");
    }
    // A gradient that is not finite spoils the weights, and after the next iteration also the loss.
    if (!AllFinite(trainer_.net_.State())) Fail(iterations_of_run() - 1, "a weight");
    return stats_;
  }

 private:
  [[noreturn]] void Fail(std::int64_t iteration, std::string_view what) const {
    throw Error(
        fmt::format("iteration {}: {} is not a finite number; lower optimizer.learning_rate, "
                    "which is now {}, set optimizer.max_grad_norm, or use train.precision: fp32",
                    iteration, what, stats_.learning_rate));
  }

  Batch NextBatch() {
    const ScopedTimer timer(stats_.wait_for_batch_s);
    const Span span(Phase::kWaitForBatch);
    return batches_->Next();
  }

  std::optional<Span> set_up_;
  TorchTrainer& trainer_;
  const std::int64_t update_;
  const ScopedThreads threads_;
  const std::unique_ptr<StreamScope> scope_;
  std::unique_ptr<BatchIterator> batches_;
  at::Tensor loss_sum_;           // on the device
  at::Tensor finite_iterations_;  // on the device; iterations before the sum was not finite
  TrainStats stats_;
};

TorchTrainer::TorchTrainer(Network& net, InferenceNet* target, DataLoader& loader, Device& device,
                           const Config& config, GradientReducer* reducer)
    : net_(net),
      target_(target),
      loader_(loader),
      device_(device),
      reducer_(reducer),
      config_(config.train),
      optimizer_config_(config.optimizer),
      plan_({.phase = 0, .first_update = 0, .updates = UpdatePlan(config.train)}),
      stream_(device.MainStream()),
      one_hot_(net.spec().input,
               config.train.precision == Precision::kBf16 ? at::kBFloat16 : at::kFloat,
               device.torch()),
      fused_(MakeStep(net, config.train, device)),
      tensors_(dynamic_cast<TensorStep*>(fused_.get())),
      optimizer_(net.parameters(), config.optimizer),
      measures_copies_(MeasuresCopies(config, device)) {
  CheckProducts(device, static_cast<int>(*config.train.threads));
  if (GathersInTraining(config_, net_.spec().input, device_.torch())) {
    gathered_.emplace(net_.spec().input, device_.torch());
  }
  if (tensors_ != nullptr && optimizer_.repeats_steps()) {
    optimizer_.UseCopies(tensors_->parameters(), tensors_->copies(), *device.passes());
  }
  if (tensors_ != nullptr && reducer_ != nullptr) reducer_->ReduceInPlace(tensors_->gradients());
  if (config_.averages()) average_.emplace(net_, config_.ema_decay);
}

double TorchTrainer::LearningRateAt(std::int64_t iteration, std::int64_t update) const {
  const std::int64_t per_update = config_.iterations_per_update;
  const std::int64_t in_phase = iteration - plan_.first_update * per_update;
  return LearningRate(optimizer_config_, {.iteration = in_phase,
                                          .update = update - plan_.first_update,
                                          .done = plan_.updates.Done(in_phase, per_update)});
}

void TorchTrainer::RefreshTarget() {
  const Span span(Phase::kPublish);
  FaultPoint(Fault::kPublish);
  target_->Load(config_.labels_with_average() ? average_->net() : net_);
  if (sample_.defined()) copy_error_ = ErrorOfTarget();
}

double TorchTrainer::ErrorOfTarget() {
  const ScopedThreads threads(static_cast<int>(*config_.threads));
  const std::unique_ptr<StreamScope> scope = stream_->Enter();
  const c10::NoGradGuard no_grad;
  const OneHot one_hot(net_.spec().input, at::kFloat, device_.torch());
  net_.SetTraining(false);
  const at::Tensor exact = net_.Forward(one_hot(sample_));
  net_.SetTraining(true);
  return (target_->Forward(sample_) - exact).square().mean().sqrt().item<double>();
}

std::unique_ptr<TrainPass> TorchTrainer::Begin(std::int64_t update, const DataBuffer* rows) {
  return std::make_unique<Pass>(*this, update, rows);
}

at::Tensor TorchTrainer::Step(const Batch& batch, double learning_rate) {
  {
    const Span span(Phase::kForward);
    FaultPoint(Fault::kTrainStep);
  }
  if (measures_copies_ && !sample_.defined()) {
    sample_ = batch.inputs.narrow(0, 0, std::min(kSampleRows, batch.inputs.size(0))).clone();
  }
  if (TakesWholeSteps()) return TakeWholeStep(batch, learning_rate);
  const bool skips = config_.on_invalid == OnInvalid::kSkip;
  std::vector<at::Tensor> statistics;  // of batch normalisation, which the forward pass changes
  if (skips) {
    for (const at::Tensor& buffer : net_.buffers()) statistics.push_back(buffer.clone());
  }
  at::Tensor loss = fused_ != nullptr
                        ? fused_->SetGradients(batch.inputs, batch.targets, batch.weights)
                        : SetGradientsByAutograd(batch);
  if (reducer_ != nullptr) loss = reducer_->Reduce(loss, batch.weights, net_.parameters());
  if (skips && !(std::isfinite(ValueOf(loss)) && GradientsAreFinite())) {
    optimizer_.ClearGradients();
    const c10::NoGradGuard no_grad;
    const std::vector<at::Tensor> buffers = net_.buffers();
    for (std::size_t i = 0; i < buffers.size(); ++i) buffers[i].copy_(statistics[i]);
    return {};
  }
  optimizer_.Step(learning_rate);
  ++num_steps_;
  return loss;
}

// Batch normalisation sees only the rows of its rank, so its running statistics differ.
void TorchTrainer::AverageStatistics() {
  if (reducer_ == nullptr) return;
  const c10::NoGradGuard no_grad;
  reducer_->AverageBuffers(net_);
  if (average_) reducer_->AverageBuffers(average_->net());
}

// Whether the host has nothing to decide between the gradients and the optimizer.
bool TorchTrainer::TakesWholeSteps() const {
  return tensors_ != nullptr && optimizer_.repeats_steps() &&
         config_.on_invalid != OnInvalid::kSkip;
}

at::Tensor TorchTrainer::TakeWholeStep(const Batch& batch, double learning_rate) {
  optimizer_.SetRate(learning_rate);
  const auto update = [this] { optimizer_.RepeatStep(); };
  at::Tensor loss;
  if (reducer_ == nullptr) {
    loss = tensors_->Step(batch.inputs, batch.targets, batch.weights, update);
  } else {
    const auto reduce = [&](const at::Tensor& own) {
      return reducer_->Reduce(own, batch.weights, net_.parameters());
    };
    loss = tensors_->ReducedStep(batch.inputs, batch.targets, batch.weights, reduce, update);
  }
  ++num_steps_;
  return loss;
}

// Returns the mean loss of the batch.
at::Tensor TorchTrainer::SetGradientsByAutograd(const Batch& batch) {
  at::Tensor mean;
  for (std::int64_t part = 0; part < config_.accumulation_steps; ++part) {
    at::Tensor loss = LossOfPart(batch, part);
    const Span span(Phase::kBackward);
    loss.backward();
    mean = part == 0 ? loss.detach() : mean + loss.detach();
    loss.reset();  // frees the autograd graph before the next part's forward pass
  }
  return mean;
}

bool TorchTrainer::GradientsAreFinite() const {
  std::vector<at::Tensor> gradients;
  for (const at::Tensor& parameter : net_.parameters()) gradients.push_back(parameter.grad());
  return AllFinite(gradients);
}

// The contribution of part `part` to the mean loss of the batch.
at::Tensor TorchTrainer::LossOfPart(const Batch& batch, std::int64_t part) {
  const Span span(Phase::kForward);
  const std::int64_t parts = config_.accumulation_steps;
  if (parts == 1) return LossOf(batch);
  const std::int64_t rows = batch.targets.size(0) / parts;
  const auto rows_of = [&](const at::Tensor& tensor) {
    return tensor.narrow(0, part * rows, rows);
  };
  Batch piece{.inputs = rows_of(batch.inputs), .targets = rows_of(batch.targets)};
  if (!batch.weights.defined()) return LossOf(piece) / static_cast<double>(parts);
  piece.weights = rows_of(batch.weights);
  return LossOf(piece) * (piece.weights.sum() / SumOf(batch.weights));
}

at::Tensor TorchTrainer::LossOf(const Batch& batch) {
  at::Tensor outputs;
  {
    const ScopedAutocast autocast(device_.torch().type(), config_.precision == Precision::kBf16);
    outputs = gathered_ ? net_.ForwardGathered(batch.inputs, *gathered_)
                        : net_.Forward(one_hot_(batch.inputs));
  }
  if (!batch.weights.defined()) return LossOf(outputs, batch.targets, at::Reduction::Mean);
  const at::Tensor losses = LossOf(outputs, batch.targets, at::Reduction::None);
  return (losses * batch.weights).sum() / SumOf(batch.weights);
}

// Without a reduction, returns the loss of each output. A policy has one loss per row, so rows that
// label a policy have no weights.
at::Tensor TorchTrainer::LossOf(const at::Tensor& outputs, const at::Tensor& targets,
                                at::Reduction::Reduction reduction) const {
  switch (net_.spec().layers.head) {
    case Head::kV:
    case Head::kQ:
    case Head::kQIn:
      return LossOfCosts(outputs, targets, reduction);
    case Head::kPolicy:
      return LossOfPolicy(outputs, targets, reduction);
    case Head::kVp: {  // column 0 is the cost, the others are the policy
      const std::int64_t actions = targets.size(1) - 1;
      return LossOfCosts(outputs.narrow(1, 0, 1), targets.narrow(1, 0, 1), reduction) +
             config_.policy_weight * LossOfPolicy(outputs.narrow(1, 1, actions),
                                                  targets.narrow(1, 1, actions), reduction);
    }
  }
  throw Error("LossOf: unknown head; this is a bug in Tandem");
}

at::Tensor TorchTrainer::LossOfCosts(const at::Tensor& outputs, const at::Tensor& targets,
                                     at::Reduction::Reduction reduction) const {
  switch (config_.loss) {
    case Loss::kSquared:
      return at::mse_loss(outputs, targets, reduction);
    case Loss::kHuber:
      return at::huber_loss(outputs, targets, reduction, config_.huber_delta);
    case Loss::kLogCosh: {
      const at::Tensor losses = LogCosh(outputs, targets);
      return reduction == at::Reduction::None ? losses : losses.mean();
    }
  }
  throw Error("LossOfCosts: unknown loss; this is a bug in Tandem");
}

void OnlineEvaluator::Evaluate(ConstRows inputs, std::span<float> values) {
  if (steps_of_copy_ != trainer_.num_steps()) {
    copy_.Load(trainer_.net());
    steps_of_copy_ = trainer_.num_steps();
  }
  copy_.Evaluate(inputs, values);
}

}  // namespace tandem
