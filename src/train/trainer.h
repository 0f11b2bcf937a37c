// Trains a network with LibTorch.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "config/config.h"
#include "config/update_plan.h"
#include "loaders/loader.h"
#include "nn/backend.h"
#include "nn/device.h"
#include "nn/inference_net.h"
#include "nn/network.h"
#include "nn/optimizer.h"
#include "pipeline/pipeline.h"
#include "ranks/gradient_reducer.h"
#include "tandem/evaluator.h"

namespace tandem {

/// TorchTrainer fits the network's outputs to the targets (TrainingLoss), by the GradientStep that
/// `backend` selects and an Optimizer. It works on the device's main stream.
class TorchTrainer final : public Trainer {
 public:
  /// All references and `target` must outlive this object. `net` must be on `device`. `target` is
  /// the target network, or null if no rows are labelled by one. `config` must have no `auto` left.
  /// Throws if LibTorch's matrix products are wrong on this machine (CheckProducts), or if
  /// the backend does not support the network or the device. May move the parameters of `net`
  /// (FlatParameters). With `reducer`, which must outlive this object, all ranks train on the rows
  /// of all ranks, and TrainStats counts all rows.
  TorchTrainer(Network& net, InferenceNet* target, DataLoader& loader, Device& device,
               const Config& config, GradientReducer* reducer = nullptr);

  /// Replaces the plan of updates, which the learning rate follows, from the next iteration on.
  void UsePlan(const UpdatePlan& plan) { plan_ = plan; }

  void RefreshTarget() override;
  std::unique_ptr<TrainPass> Begin(std::int64_t update, const DataBuffer* rows) override;

  /// Does one optimizer step: forward pass, loss and backward pass for each of
  /// `train.accumulation_steps` parts of the batch, then the update of the weights. Returns the
  /// mean loss, on the device.
  at::Tensor Step(const Batch& batch, double learning_rate);

  const Optimizer& optimizer() const { return optimizer_; }
  const Network& net() const { return net_; }

  /// The moving average of the weights; null if the run keeps none (`train.ema_decay`).
  const WeightAverage* average() const { return average_ ? &*average_ : nullptr; }

  /// The network that the run validates and saves: the trained one or its average.
  const Network& saved_net() const { return average_ ? average_->net() : net_; }

  /// The number of steps that this object has done.
  std::int64_t num_steps() const { return num_steps_; }

  /// The number of processes that train together; 1 if this one trains alone.
  std::int64_t num_ranks() const { return reducer_ != nullptr ? reducer_->size() : 1; }

 private:
  class Pass;

  void AverageStatistics();
  double ErrorOfTarget();
  double LearningRateAt(std::int64_t iteration) const;

  Network& net_;
  InferenceNet* target_;
  DataLoader& loader_;
  Device& device_;
  GradientReducer* const reducer_;  // null if this process trains alone
  const TrainingConfig config_;
  const OptimizerConfig optimizer_config_;
  UpdatePlan plan_;
  std::unique_ptr<Stream> stream_;
  const std::unique_ptr<GradientStep> step_;  // before optimizer_, because it moves parameters
  Optimizer optimizer_;
  std::optional<WeightAverage> average_;
  std::int64_t num_steps_ = 0;
  const bool measures_copies_;  // RefreshTarget sets copy_error_
  at::Tensor sample_;           // of the first batch's inputs, for copy_error_
  std::optional<double> copy_error_;
};

/// OnlineEvaluator evaluates the network that a trainer trains, through an inference copy that it
/// refreshes if the trainer has done a step since. Only the thread that trains may use it, between
/// iterations.
class OnlineEvaluator final : public Evaluator {
 public:
  /// `trainer` and `device` must outlive this object.
  OnlineEvaluator(const TorchTrainer& trainer, const InferenceConfig& config, Device& device)
      : trainer_(trainer), copy_(trainer.net().spec(), config, device) {}

  bool estimates_states() const override { return copy_.estimates_states(); }
  ActionValues action_values() const override { return copy_.action_values(); }
  void Evaluate(ConstRows inputs, std::span<float> values) override {
    Current().Evaluate(inputs, values);
  }
  void EvaluateActions(ConstRows inputs, std::span<float> values) override {
    Current().EvaluateActions(inputs, values);
  }
  void EvaluateWithActions(ConstRows inputs, std::span<float> values) override {
    Current().EvaluateWithActions(inputs, values);
  }

 private:
  InferenceNet& Current();

  const TorchTrainer& trainer_;
  InferenceNet copy_;
  std::int64_t steps_of_copy_ = -1;  // TorchTrainer::num_steps when the copy was made
};

}  // namespace tandem
