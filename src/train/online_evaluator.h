// Evaluates the network that is being trained.
#pragma once

#include "nn/device.h"
#include "nn/frozen_net.h"
#include "nn/resnet_fc.h"
#include "nn/torch_evaluator.h"

namespace tandem {

/// OnlineEvaluator evaluates the network that is being trained, through a frozen copy that it
/// refreshes if the network has changed since the last call. Only the thread that trains may use
/// it, between iterations.
class OnlineEvaluator final : public Evaluator {
 public:
  /// `net` and `device` must outlive this object. `type` is the element type of the frozen copy's
  /// weights (FrozenNet).
  OnlineEvaluator(const ResNetFC& net, at::ScalarType type, Device& device,
                  TorchEvaluatorOptions options);

  /// Call after each iteration that has changed the network.
  void Changed() { changed_ = true; }

  void Evaluate(ConstRows inputs, std::span<float> values) override;

  /// The number of rows evaluated so far.
  std::int64_t num_rows() const { return evaluator_.num_rows(); }

 private:
  const ResNetFC& net_;
  std::unique_ptr<Stream> stream_;
  FrozenNet frozen_;
  TorchEvaluator evaluator_;
  bool changed_ = true;
};

}  // namespace tandem
