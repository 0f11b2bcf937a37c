// The Trainer on LibTorch.
#pragma once

#include <functional>
#include <memory>

#include "nn/device.h"
#include "nn/frozen_net.h"
#include "nn/one_hot.h"
#include "nn/optimizer.h"
#include "nn/resnet_fc.h"
#include "pipeline/trainer.h"
#include "train/batch_source.h"

namespace tandem {

struct TorchTrainerOptions {
  OptimizerConfig optimizer;
  std::int64_t iterations_per_update = 0;
  std::int64_t iterations = 0;  ///< of the whole run, for the learning rate
  int threads = 1;
  bool bf16 = false;
};

/// Least squares on the targets. Works on the device's main stream.
class TorchTrainer final : public Trainer {
 public:
  /// Everything referred to must outlive this; `net` is on `device`. `target` is null where no
  /// generator asks a network.
  TorchTrainer(ResNetFC& net, FrozenNet* target, BatchLoader& loader, Device& device,
               TorchTrainerOptions options);

  /// Called after each iteration with its number within the run.
  void OnIteration(std::function<void(std::int64_t)> callback);

  void PublishTarget() override;

  /// Throws Error that names the update if the loss is not finite.
  TrainStats Train(std::int64_t update, const DataBuffer& rows, const StopSignal& stop) override;

  /// One optimiser step: forward, loss, backward, update. Returns the loss, on the device.
  at::Tensor Step(const Batch& batch, double learning_rate);

  const Optimizer& optimizer() const { return optimizer_; }

 private:
  ResNetFC& net_;
  FrozenNet* target_;
  BatchLoader& loader_;
  Device& device_;
  const TorchTrainerOptions options_;
  std::unique_ptr<Stream> stream_;
  OneHot one_hot_;
  Optimizer optimizer_;
  std::function<void(std::int64_t)> on_iteration_ = [](std::int64_t) {};
};

}  // namespace tandem
