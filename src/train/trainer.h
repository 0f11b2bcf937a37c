// The Trainer that trains a network with LibTorch.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "config/update_plan.h"
#include "data/loader.h"
#include "nn/device.h"
#include "nn/inference_net.h"
#include "nn/optimizer.h"
#include "nn/resnet_fc.h"
#include "train/modes.h"

namespace tandem {

struct TorchTrainerOptions {
  OptimizerConfig optimizer;
  Loss loss = Loss::kSquared;
  double huber_delta = 1;
  std::int64_t accumulation_steps = 1;  ///< must divide the batch size
  std::int64_t iterations_per_update = 0;
  UpdatePlan plan{1};  ///< the updates of the whole run, for the learning-rate schedule
  int threads = 1;
  bool bf16 = false;
};

/// TorchTrainer fits the network's estimates to the targets. It works on the device's main stream.
class TorchTrainer final : public Trainer {
 public:
  /// All references and `target` must outlive this object. `net` must be on `device`. `target` is
  /// the target network, or null if the generator needs no network. Throws if LibTorch's matrix
  /// products are wrong on this machine (CheckProducts).
  TorchTrainer(ResNetFC& net, FrozenNet* target, DataLoader& loader, Device& device,
               TorchTrainerOptions options);

  /// Sets a callback that Train calls before the first iteration of each update.
  void OnStart(std::function<void()> callback);

  /// Replaces the loader from the next update on. `loader` must outlive this object or stay valid
  /// until the next call. The previous loader is no longer used.
  void UseLoader(DataLoader& loader) { loader_ = &loader; }

  /// Replaces the plan from the next iteration on.
  void UsePlan(const UpdatePlan& plan) { options_.plan = plan; }

  void PublishTarget() override;

  /// Throws Error that names the update if the mean loss is not finite.
  TrainStats Train(std::int64_t update, const DataBuffer& rows, const StopSignal& stop) override;

  void BetweenIterations(std::function<void()> work) override;

  /// Makes Train call `callback` after each iteration, with the iteration's number in the run.
  /// Callbacks run in the order in which they were added, and before that of BetweenIterations.
  /// Train rethrows what a callback throws.
  void OnIteration(std::function<void(std::int64_t)> callback);

  /// Does one optimizer step: forward pass, loss and backward pass for each of `accumulation_steps`
  /// parts of the batch, then the update of the weights. Returns the mean loss, on the device.
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
