#include "run/memory_plan.h"

#include "generate/generator.h"
#include "nn/resnet_fc.h"
#include "tandem/registry.h"

namespace tandem {

MemoryPlan PlanMemory(const TrainConfig& config) {
  const auto domain = MakeDomain(config.domain.full_name());
  const Schema schema = ExampleSchema(domain->spec(), config.network.head);
  const auto rows = static_cast<std::size_t>(config.rows_per_update());

  constexpr std::int64_t kWeightsGradientsAndMeans = 4;
  constexpr std::int64_t kCopiedBeforeAnUpdate = 3;
  const std::int64_t evaluated = (config.generate.target == Target::kWalkLength ? 0 : 1) +
                                 (config.validation.every_updates > 0 ? 1 : 0);
  const std::int64_t evaluated_bytes = config.evaluate.precision == Precision::kBf16 ? 2 : 4;
  MemoryPlan plan{.parameters = NumParameters(NetworkFor(config.network, domain->spec()))};
  plan.buffers = 2 * static_cast<std::int64_t>(DataBuffer::BytesFor(schema, rows));
  plan.batches = (config.prefetch.depth + 2) * config.train.batch_size *
                 static_cast<std::int64_t>(schema.row_bytes());
  plan.network = plan.parameters * ((kWeightsGradientsAndMeans + kCopiedBeforeAnUpdate) * 4 +
                                    evaluated * evaluated_bytes);
  return plan;
}

}  // namespace tandem
