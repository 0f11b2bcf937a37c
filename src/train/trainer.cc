#include "train/trainer.h"

#include <ATen/core/Reduction.h>
#include <ATen/ops/huber_loss.h>
#include <ATen/ops/mse_loss.h>
#include <ATen/ops/zeros.h>
#include <fmt/format.h>

#include <cmath>
#include <optional>
#include <utility>

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

}  // namespace

TorchTrainer::TorchTrainer(ResNetFC& net, FrozenNet* target, DataLoader& loader, Device& device,
                           TorchTrainerOptions options)
    : net_(net),
      target_(target),
      loader_(&loader),
      device_(device),
      options_(options),
      stream_(device.MainStream()),
      one_hot_(net.spec().input, options.bf16 ? at::kBFloat16 : at::kFloat, device.torch()),
      optimizer_(net.parameters(), options.optimizer) {
  CheckProducts(device, options.threads);
}

void TorchTrainer::OnStart(std::function<void()> callback) { on_start_ = std::move(callback); }

void TorchTrainer::OnIteration(std::function<void(std::int64_t)> callback) {
  on_iteration_.push_back(std::move(callback));
}

void TorchTrainer::BetweenIterations(std::function<void()> work) {
  between_iterations_ = std::move(work);
}

void TorchTrainer::PublishTarget() {
  const Span span(Phase::kPublish);
  const std::unique_ptr<StreamScope> scope = stream_->Enter();
  target_->CopyFrom(net_);
}

TrainStats TorchTrainer::Train(std::int64_t update, const DataBuffer& rows,
                               const StopSignal& stop) {
  const Section section("train", update);
  EndArrow(kRowsArrow, update);
  std::optional<Span> set_up(Phase::kSetUp);  // the first call starts LibTorch's threads
  on_start_();
  const ScopedThreads threads(options_.threads);
  const std::unique_ptr<StreamScope> scope = stream_->Enter();
  const Stopwatch watch;
  TrainStats stats{.began = watch.start()};
  std::unique_ptr<BatchIterator> batches = loader_->Open(rows, update);
  at::Tensor loss_sum = at::zeros({}, at::TensorOptions().device(device_.torch()));
  set_up.reset();
  while (stats.iterations < options_.iterations_per_update && !stop.Reached()) {
    Iterate(*batches, update * options_.iterations_per_update + stats.iterations, stats, loss_sum);
  }
  {
    const Span span(Phase::kWaitForBatch);
    batches.reset();  // waits if a batch is being gathered
  }
  if (stats.iterations > 0) stats.loss = ValueOf(loss_sum) / static_cast<double>(stats.iterations);
  if (!std::isfinite(stats.loss)) {
    throw Error(
        fmt::format("update {}: the loss is {}, not a finite number; lower "
                    "optimizer.learning_rate, which is now {}",
                    update, stats.loss, stats.learning_rate));
  }
  stats.seconds = watch.Seconds();
  return stats;
}

void TorchTrainer::Iterate(BatchIterator& batches, std::int64_t iteration, TrainStats& stats,
                           at::Tensor& loss_sum) {
  const Section section("iteration", iteration);
  Batch batch;
  {
    const ScopedTimer timer(stats.wait_for_batch_s);
    const Span span(Phase::kWaitForBatch);
    batch = batches.Next();
  }
  stats.learning_rate = LearningRate(options_.optimizer, iteration,
                                     options_.plan.Done(iteration, options_.iterations_per_update));
  const at::Tensor loss = Step(batch, stats.learning_rate);
  const Span span(Phase::kReport);
  loss_sum += loss;
  ++stats.iterations;
  stats.examples += batch.targets.size(0);
  for (const auto& callback : on_iteration_) callback(iteration);
  if (between_iterations_) between_iterations_();
}

at::Tensor TorchTrainer::Step(const Batch& batch, double learning_rate) {
  at::Tensor mean;
  for (std::int64_t part = 0; part < options_.accumulation_steps; ++part) {
    at::Tensor loss = LossOfPart(batch, part);
    const Span span(Phase::kBackward);
    loss.backward();
    mean = part == 0 ? loss.detach() : mean + loss.detach();
    loss.reset();  // frees the autograd graph before the next part's forward pass
  }
  optimizer_.Step(learning_rate);
  return mean;
}

// The contribution of part `part` to the mean loss of the batch.
at::Tensor TorchTrainer::LossOfPart(const Batch& batch, std::int64_t part) {
  const Span span(Phase::kForward);
  const std::int64_t parts = options_.accumulation_steps;
  if (parts == 1) return LossOf(batch);
  const std::int64_t rows = batch.targets.size(0) / parts;
  return LossOf({.inputs = batch.inputs.narrow(0, part * rows, rows),
                 .targets = batch.targets.narrow(0, part * rows, rows)}) /
         static_cast<double>(parts);
}

at::Tensor TorchTrainer::LossOf(const Batch& batch) {
  at::Tensor estimates;
  {
    const ScopedAutocast autocast(device_.torch().type(), options_.bf16);
    estimates = net_.Forward(one_hot_(batch.inputs));
  }
  switch (options_.loss) {
    case Loss::kSquared:
      return at::mse_loss(estimates, batch.targets);
    case Loss::kHuber:
      return at::huber_loss(estimates, batch.targets, at::Reduction::Mean, options_.huber_delta);
  }
  throw Error("LossOf: unknown loss; this is a bug in Tandem");
}

}  // namespace tandem
