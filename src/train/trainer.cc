#include "train/trainer.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/_foreach_norm.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros.h>
#include <c10/core/GradMode.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>
#include <vector>

#include "base/fault_point.h"
#include "base/stopwatch.h"
#include "base/timeline.h"
#include "nn/resnet_fc.h"
#include "nn/threads.h"
#include "tandem/error.h"

namespace tandem {

namespace {

// Whether all weights are finite. Blocks until the device has computed them. The sum of the norms
// is finite only if each number is.
bool AllFinite(const StateDict& state) {
  const c10::NoGradGuard no_grad;
  std::vector<at::Tensor> tensors;
  for (const auto& [name, tensor] : state) {
    if (tensor.is_floating_point()) tensors.push_back(tensor);
  }
  const at::Tensor sum = at::stack(at::_foreach_norm(tensors)).sum();
  const Span span(Activity::kWaitForDevice);
  return std::isfinite(sum.item<double>());
}

constexpr std::int64_t kSampleRows = 256;

// Whether the rounding of inference copies is measured. A GPU has to wait for it, which only fp8 is
// worth. A copy that takes actions has other inputs than the network in training.
bool MeasuresCopies(const Config& config, const Device& device) {
  const Precision precision = config.inference.precision;
  return (device.torch().is_cpu() || precision == Precision::kFp8) &&
         precision != Precision::kFp32 && !TakesAction(config.network.head);
}

}  // namespace

// The training on the rows of one update.
class TorchTrainer::Pass final : public TrainPass {
 public:
  Pass(TorchTrainer& trainer, std::int64_t update, const DataBuffer* rows)
      : set_up_(Activity::kSetUp),  // the first pass starts LibTorch's threads
        trainer_(trainer),
        update_(update),
        threads_(static_cast<int>(*trainer.config_.threads)),
        scope_(trainer.stream_->Enter()),
        batches_(trainer.loader_.Open(rows, update)),
        losses_(at::zeros({trainer.config_.iterations_per_update},
                          at::TensorOptions().device(trainer.device_.torch()))) {
    stats_.copy_error = trainer.copy_error_;
    set_up_.reset();
  }

  bool Step() override {
    if (stats_.iterations == trainer_.config_.iterations_per_update) return false;
    const std::int64_t iteration = iterations_of_run();
    const Section section("iteration", iteration);
    const Batch batch = NextBatch();
    stats_.learning_rate = trainer_.LearningRateAt(iteration);
    const at::Tensor loss = trainer_.Step(batch, stats_.learning_rate);
    if (trainer_.average_) {
      const Span span(Activity::kOptimizer);
      trainer_.average_->Add(trainer_.net_, iteration);
    }
    const Span span(Activity::kReport);
    losses_[stats_.iterations].copy_(loss);
    ++stats_.iterations;
    stats_.examples += batch.targets.size(0) * trainer_.num_ranks();
    return true;
  }

  std::int64_t iterations_of_run() const override {
    return update_ * trainer_.config_.iterations_per_update + stats_.iterations;
  }

  TrainStats Finish() override {
    {
      const Span span(Activity::kWaitForBatch);
      batches_.reset();  // waits if a batch is being gathered
    }
    if (stats_.iterations == 0) return stats_;
    trainer_.AverageStatistics();
    // All ranks end the update after the same iteration.
    if (trainer_.reducer_ != nullptr) trainer_.reducer_->DecideStop();
    const Span span(Activity::kWaitForDevice);
    stats_.loss = SumOfLosses() / static_cast<double>(stats_.iterations);
    // A gradient that is not finite spoils the weights, and after the next iteration also the loss.
    if (!AllFinite(trainer_.net_.State())) Fail(iterations_of_run() - 1, "a weight");
    return stats_;
  }

 private:
  // Throws if a loss is not finite.
  double SumOfLosses() const {
    const at::Tensor losses = losses_.to(at::kCPU);
    double sum = 0;
    for (std::int64_t i = 0; i < stats_.iterations; ++i) {
      const double loss = losses.const_data_ptr<float>()[i];
      if (!std::isfinite(loss)) {
        Fail(update_ * trainer_.config_.iterations_per_update + i, "the loss");
      }
      sum += loss;
    }
    return sum;
  }

  [[noreturn]] void Fail(std::int64_t iteration, std::string_view what) const {
    throw Error(
        fmt::format("iteration {}: {} is not a finite number; lower optimizer.learning_rate, "
                    "which is now {}, set optimizer.max_grad_norm, or use train.precision: fp32",
                    iteration, what, stats_.learning_rate));
  }

  Batch NextBatch() {
    const ScopedTimer timer(stats_.wait_for_batch_s);
    const Span span(Activity::kWaitForBatch);
    return batches_->Next();
  }

  std::optional<Span> set_up_;
  TorchTrainer& trainer_;
  const std::int64_t update_;
  const ScopedThreads threads_;
  const std::unique_ptr<StreamScope> scope_;
  std::unique_ptr<BatchIterator> batches_;
  at::Tensor losses_;  // (iterations) on the device
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
      plan_(config.train),
      stream_(device.MainStream()),
      step_(MakeGradientStep(net, config.train, device)),
      optimizer_(net.parameters(), config.optimizer, step_->flat(), device.passes()),
      measures_copies_(MeasuresCopies(config, device)) {
  CheckProducts(device, static_cast<int>(*config.train.threads));
  FlatParameters* const flat = step_->flat();
  if (reducer_ != nullptr && flat != nullptr) reducer_->ReduceInPlace(flat->gradients());
  if (config_.averages()) average_.emplace(net_, config_.ema_decay);
}

double TorchTrainer::LearningRateAt(std::int64_t iteration) const {
  const std::int64_t per_update = config_.iterations_per_update;
  return LearningRate(optimizer_config_,
                      {.iteration = iteration, .done = plan_.Done(iteration, per_update)});
}

void TorchTrainer::RefreshTarget() {
  const Span span(Activity::kRefreshTarget);
  FaultPoint(Fault::kRefreshTarget);
  target_->Load(net_);
  if (sample_.defined()) copy_error_ = ErrorOfTarget();
}

double TorchTrainer::ErrorOfTarget() {
  const ScopedThreads threads(static_cast<int>(*config_.threads));
  const std::unique_ptr<StreamScope> scope = stream_->Enter();
  const c10::NoGradGuard no_grad;
  const OneHot one_hot(net_.spec().input, at::kFloat, device_.torch());
  net_.SetTraining(false);
  const at::Tensor exact = ForwardChecked(net_, one_hot, sample_);
  net_.SetTraining(true);
  return (target_->Forward(sample_) - exact).square().mean().sqrt().item<double>();
}

std::unique_ptr<TrainPass> TorchTrainer::Begin(std::int64_t update, const DataBuffer* rows) {
  return std::make_unique<Pass>(*this, update, rows);
}

at::Tensor TorchTrainer::Step(const Batch& batch, double learning_rate) {
  {
    const Span span(Activity::kForward);
    FaultPoint(Fault::kTrainStep);
  }
  if (measures_copies_ && !sample_.defined()) {
    sample_ = batch.inputs.narrow(0, 0, std::min(kSampleRows, batch.inputs.size(0))).clone();
  }
  GradientStep::Update update{.optimizer = optimizer_, .learning_rate = learning_rate};
  if (reducer_ != nullptr) {
    update.reduce = [&](const at::Tensor& of_rank) {
      return reducer_->Reduce(of_rank, batch.weights, net_.parameters());
    };
  }
  at::Tensor loss = step_->Step(batch.inputs, batch.targets, batch.weights, update);
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

InferenceNet& OnlineEvaluator::Current() {
  if (steps_of_copy_ != trainer_.num_steps()) {
    copy_.Load(trainer_.net());
    steps_of_copy_ = trainer_.num_steps();
  }
  return copy_;
}

}  // namespace tandem
