// The network in training, as an Evaluator.
#pragma once

#include "nn/device.h"
#include "nn/frozen_net.h"
#include "nn/resnet_fc.h"
#include "nn/torch_evaluator.h"

namespace tandem {

/// Evaluates with a frozen copy, made anew where the network has changed since. For the thread that
/// trains, between its iterations.
class OnlineEvaluator final : public Evaluator {
 public:
  /// `net` and `device` must outlive this; `type` as FrozenNet's.
  OnlineEvaluator(const ResNetFC& net, at::ScalarType type, Device& device,
                  TorchEvaluatorOptions options);

  /// Call when an iteration has changed the network.
  void Changed() { changed_ = true; }

  void Evaluate(ConstRows inputs, std::span<float> values) override;

  /// Rows evaluated until now.
  std::int64_t num_rows() const { return evaluator_.num_rows(); }

 private:
  const ResNetFC& net_;
  std::unique_ptr<Stream> stream_;
  FrozenNet frozen_;
  TorchEvaluator evaluator_;
  bool changed_ = true;
};

}  // namespace tandem
