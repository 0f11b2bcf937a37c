#include "run/model.h"

#include <fmt/format.h>

#include "nn/tensor_file.h"
#include "tandem/error.h"
#include "tandem/registry.h"

namespace tandem {

Model::Model(const RunDirectory& run, const TrainConfig& config, std::unique_ptr<Device> device)
    : device_(std::move(device)), domain_(MakeDomain(config.domain.full_name())) {
  const NetworkSpec spec = NetworkFor(config.network, domain_->spec());
  ResNetFC net(spec, /*seed=*/0);
  const std::string file = run.checkpoint().string();
  const TensorDict checkpoint = ReadTensorFile(file);
  const auto schema = checkpoint.find("schema");
  if (schema == checkpoint.end() || !schema->value().isInt() ||
      schema->value().toInt() != kCheckpointSchema) {
    throw InputError(
        fmt::format("{}: expected a checkpoint of schema {}", file, kCheckpointSchema));
  }
  // The schema promises the rest.
  LoadStateDict(checkpoint.at("model").toGenericDict(), net, file);
  if (WeightsSha256(StateDictOf(net)) != checkpoint.at("weights_sha256").toStringRef()) {
    throw InputError(fmt::format("{}: the weights are damaged: their SHA-256 is another", file));
  }
  iterations_ = checkpoint.at("iterations").toInt();

  const at::ScalarType type =
      config.evaluate.precision == Precision::kBf16 ? at::kBFloat16 : at::kFloat;
  net_ = std::make_unique<FrozenNet>(spec, type, device_->torch());
  net_->CopyFrom(net);
  evaluator_ = std::make_unique<TorchEvaluator>(
      *net_, *device_, spec,
      TorchEvaluatorOptions{.batch_rows = config.evaluate.batch_rows,
                            .threads = static_cast<int>(*config.evaluate.threads)});
}

}  // namespace tandem
