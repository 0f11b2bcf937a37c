// Evaluates the network that is being trained.
#pragma once

#include <cstdint>
#include <span>

#include "config/config.h"
#include "nn/device.h"
#include "nn/inference_net.h"
#include "tandem/evaluator.h"
#include "train/trainer.h"

namespace tandem {

/// OnlineEvaluator evaluates the network that a trainer trains, through an inference copy that it
/// refreshes if the trainer has done a step since. Only the thread that trains may use it, between
/// iterations.
class OnlineEvaluator final : public Evaluator {
 public:
  /// `trainer` and `device` must outlive this object.
  OnlineEvaluator(const TorchTrainer& trainer, const InferenceConfig& config, Device& device)
      : trainer_(trainer), copy_(trainer.net().spec(), config, device) {}

  bool estimates_states() const override { return copy_.estimates_states(); }
  void Evaluate(ConstRows inputs, std::span<float> values) override;

 private:
  const TorchTrainer& trainer_;
  InferenceNet copy_;
  std::int64_t steps_of_copy_ = -1;  // TorchTrainer::num_steps when the copy was made
};

}  // namespace tandem
