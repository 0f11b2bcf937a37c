#include "train/online_evaluator.h"

namespace tandem {

OnlineEvaluator::OnlineEvaluator(const ResNetFC& net, at::ScalarType type, Device& device,
                                 TorchEvaluatorOptions options)
    : net_(net),
      stream_(device.MainStream()),
      frozen_(net.spec(), type, device.torch()),
      evaluator_(frozen_, device, net.spec(), options) {}

void OnlineEvaluator::Evaluate(ConstRows inputs, std::span<float> values) {
  if (changed_) {
    const std::unique_ptr<StreamScope> scope = stream_->Enter();
    frozen_.CopyFrom(net_);
    changed_ = false;
  }
  evaluator_.Evaluate(inputs, values);
}

}  // namespace tandem
