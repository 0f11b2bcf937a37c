#include "run/memory_plan.h"

#include <algorithm>

#include "buffer/replay_buffer.h"
#include "generate/generator.h"
#include "generate/row_writer.h"
#include "nn/resnet_fc.h"
#include "search/astar.h"
#include "tandem/registry.h"

namespace tandem {
namespace {

// Two chunks of searches go on at a time, each to its last step.
std::int64_t MostSearchBytes(const TrainConfig& config, const DomainSpec& spec, std::int64_t rows) {
  const GenerateConfig& generate = config.generate;
  if (generate.search != GenerateSearch::kAStar) return 0;
  const std::int64_t instances =
      std::min(2 * generate.chunk_rows, rows / generate.search_iterations + 1);
  return instances * generate.search_iterations * spec.num_actions() *
         static_cast<std::int64_t>(AStarBytesPerNode(spec));
}

}  // namespace

MemoryPlan PlanMemory(const TrainConfig& config) {
  const auto domain = MakeDomain(config.domain.full_name());
  const bool sync_main = config.pipeline.mode == Mode::kSyncMain;
  const Schema schema = ExampleSchema(domain->spec(), config.network.head);
  const Schema generated = sync_main ? StateSchema(domain->spec()) : schema;
  const std::int64_t last = *config.train.max_updates - 1;  // whose batches are the largest
  const auto rows = static_cast<std::size_t>(config.rows_of(last));

  constexpr std::int64_t kWeightsGradientsAndMeans = 4;
  constexpr std::int64_t kCopiedBeforeAnUpdate = 3;
  const std::int64_t evaluated = (config.generate.target == Target::kWalkLength ? 0 : 1) +
                                 (config.validation.every_updates > 0 ? 1 : 0) +
                                 (sync_main ? 1 : 0);
  const std::int64_t evaluated_bytes = config.evaluate.precision == Precision::kBf16 ? 2 : 4;
  MemoryPlan plan{.parameters = NumParameters(NetworkFor(config.network, domain->spec()))};
  plan.buffers = 2 * static_cast<std::int64_t>(DataBuffer::BytesFor(generated, rows));
  if (config.replay.updates > 0) {
    plan.replay =
        static_cast<std::int64_t>(ReplayBuffer::BytesFor(generated, rows, config.replay.updates));
  }
  if (sync_main) plan.replay += static_cast<std::int64_t>(DataBuffer::BytesFor(schema, rows));
  plan.search = MostSearchBytes(config, domain->spec(), config.rows_of(last));
  plan.batches = (config.prefetch.depth + 2) * config.batch_size_of(last) *
                 static_cast<std::int64_t>(schema.row_bytes());
  plan.network = plan.parameters * ((kWeightsGradientsAndMeans + kCopiedBeforeAnUpdate) * 4 +
                                    evaluated * evaluated_bytes);
  return plan;
}

}  // namespace tandem
