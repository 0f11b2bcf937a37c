#include "train/model.h"

#include "tandem/registry.h"
#include "train/checkpoint.h"

namespace tandem {

Model::Model(const std::filesystem::path& file, const Config& config,
             std::unique_ptr<Device> device)
    : device_(std::move(device)), domain_(MakeDomain(config.domain.full_name())) {
  const NetworkSpec spec = NetworkFor(config.network, domain_->spec());
  ResNetFC net(spec, /*seed=*/0);
  const Checkpoint checkpoint(file);
  checkpoint.LoadModel(net, domain_->spec().identity());
  iterations_ = checkpoint.iterations();

  net_ = std::make_unique<FrozenNet>(spec, WeightTypeFor(config.inference), device_->torch());
  net_->CopyFrom(net);
  evaluator_ = std::make_unique<TorchEvaluator>(*net_, *device_, spec,
                                                EvaluatorOptionsFor(config.inference));
}

}  // namespace tandem
