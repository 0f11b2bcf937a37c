// The Trainer on LibTorch.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "config/update_plan.h"
#include "nn/device.h"
#include "nn/frozen_net.h"
#include "nn/one_hot.h"
#include "nn/optimizer.h"
#include "nn/resnet_fc.h"
#include "pipeline/trainer.h"
#include "train/data_loader.h"

namespace tandem {

struct TorchTrainerOptions {
  OptimizerConfig optimizer;
  Loss loss = Loss::kSquared;
  double huber_delta = 1;
  std::int64_t accumulation_steps = 1;  ///< divides the batch size
  std::int64_t iterations_per_update = 0;
  UpdatePlan plan{1};  ///< of the whole run, for the learning rate
  int threads = 1;
  bool bf16 = false;
};

/// Brings the network's estimates near the targets. Works on the device's main stream.
class TorchTrainer final : public Trainer {
 public:
  /// Everything referred to must outlive this; `net` is on `device`. `target` is null where no
  /// generator asks a network.
  TorchTrainer(ResNetFC& net, FrozenNet* target, DataLoader& loader, Device& device,
               TorchTrainerOptions options);

  /// Called before each update's first iteration.
  void OnStart(std::function<void()> callback);

  /// From the next update on. It must outlive this, or the next call; the one before need not.
  void UseLoader(DataLoader& loader) { loader_ = &loader; }

  /// From the next iteration on.
  void UsePlan(const UpdatePlan& plan) { options_.plan = plan; }

  void PublishTarget() override;

  /// Throws Error that names the update if the loss is not finite.
  TrainStats Train(std::int64_t update, const DataBuffer& rows, const StopSignal& stop) override;

  void BetweenIterations(std::function<void()> work) override;

  /// Has `callback` called after each iteration with its number within the run, after those that
  /// were added before and before what BetweenIterations asked for. What it throws leaves Train.
  void OnIteration(std::function<void(std::int64_t)> callback);

  /// One optimiser step: for each part of the batch forward, loss and backward; then the update.
  /// Returns the mean loss, on the device.
  at::Tensor Step(const Batch& batch, double learning_rate);

  Optimizer& optimizer() { return optimizer_; }

 private:
  void Iterate(BatchIterator& batches, std::int64_t iteration, TrainStats& stats,
               at::Tensor& loss_sum);
  at::Tensor LossOfPart(const Batch& batch, std::int64_t part);
  at::Tensor LossOf(const Batch& batch);

  ResNetFC& net_;
  FrozenNet* target_;
  DataLoader* loader_;
  Device& device_;
  TorchTrainerOptions options_;
  std::unique_ptr<Stream> stream_;
  OneHot one_hot_;
  Optimizer optimizer_;
  std::function<void()> on_start_ = [] {};
  std::vector<std::function<void(std::int64_t)>> on_iteration_;
  std::function<void()> between_iterations_;
};

}  // namespace tandem
