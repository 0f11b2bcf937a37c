#include "run/memory_plan.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "buffer/replay_buffer.h"
#include "config/memory_keys.h"
#include "generate/generator.h"
#include "generate/row_writer.h"
#include "nn/resnet_fc.h"
#include "search/astar.h"
#include "tandem/error.h"
#include "tandem/registry.h"
#include "train/shard_loader.h"

namespace tandem {
namespace {

constexpr double kGib = 1 << 30;

// Two chunks of searches go on at a time, each to its last step.
std::int64_t MostSearchBytes(const TrainConfig& config, const DomainSpec& spec, std::int64_t rows) {
  const GenerateConfig& generate = config.generate;
  if (generate.search != GenerateSearch::kAStar) return 0;
  const std::int64_t instances =
      std::min(2 * generate.chunk_rows, rows / generate.search_iterations + 1);
  return instances * generate.search_iterations * spec.num_actions() *
         static_cast<std::int64_t>(AStarBytesPerNode(spec));
}

void PlanShards(const TrainConfig& config, MemoryPlan& plan) {
  if (config.data.source == DataSource::kLive) return;
  const ShardSetSpec set = ReadShardSetSpec(config.data.path);
  plan.shards = ShardLoader::BytesFor(set, DepthsFor(config.data));
  if (config.data.reading == ChunkReading::kMap) {
    plan.mapped += set.chunks_per_shard * static_cast<std::int64_t>(set.BytesOfChunk(0));
  }
}

void PlanPlaces(const TrainConfig& config, std::int64_t mapped_replay, MemoryPlan& plan) {
  const bool on_gpu = config.device != "cpu";
  const std::int64_t copied = plan.batches + plan.shards;
  plan.mapped += mapped_replay;
  plan.allocated = plan.buffers + plan.replay - mapped_replay + plan.search + copied +
                   (on_gpu ? 0 : plan.network + plan.activations);
  plan.pinned = on_gpu && config.prefetch.pinned ? copied : 0;
}

}  // namespace

MemoryPlan PlanMemory(const TrainConfig& config) {
  const auto domain = MakeDomain(config.domain.full_name());
  const bool sync_main = config.pipeline.mode == Mode::kSyncMain;
  const Schema schema = ExampleSchema(domain->spec(), config.network.head);
  const Schema generated = sync_main ? StateSchema(domain->spec()) : schema;
  const std::int64_t last = *config.train.max_updates - 1;  // whose batches are the largest
  const auto rows = static_cast<std::size_t>(config.live_rows_of(last));

  constexpr std::int64_t kWeightsGradientsAndMeans = 4;
  constexpr std::int64_t kCopiedBeforeAnUpdate = 3;
  const std::int64_t evaluated = (config.generate.target == Target::kWalkLength ? 0 : 1) +
                                 (config.validation.every_updates > 0 ? 1 : 0) +
                                 (sync_main ? 1 : 0);
  const std::int64_t evaluated_bytes = config.evaluate.precision == Precision::kBf16 ? 2 : 4;
  const NetworkSpec network = NetworkFor(config.network, domain->spec());
  MemoryPlan plan{.parameters = NumParameters(network)};
  plan.buffers = 2 * static_cast<std::int64_t>(DataBuffer::BytesFor(generated, rows));
  std::int64_t kept = 0;  // of earlier updates
  if (config.replay.updates > 0) {
    kept =
        static_cast<std::int64_t>(ReplayBuffer::BytesFor(generated, rows, config.replay.updates));
    plan.replay = kept + static_cast<std::int64_t>(DataBuffer::BytesFor(generated, rows));
  }
  if (sync_main) plan.replay += static_cast<std::int64_t>(DataBuffer::BytesFor(schema, rows));
  plan.search = MostSearchBytes(config, domain->spec(), config.live_rows_of(last));
  plan.batches = (config.prefetch.depth + 2) * config.live_part_of(config.batch_size_of(last)) *
                 static_cast<std::int64_t>(schema.row_bytes());
  plan.network = plan.parameters * ((kWeightsGradientsAndMeans + kCopiedBeforeAnUpdate) * 4 +
                                    evaluated * evaluated_bytes);
  plan.activations =
      NumActivations(network) * 4 * config.batch_size_of(last) / config.train.accumulation_steps;
  PlanShards(config, plan);
  PlanPlaces(config, config.replay.map_to.empty() ? 0 : kept, plan);
  return plan;
}

void CheckLimits(const MemoryPlan& plan, const TrainConfig& config) {
  const auto check = [&](const char* key, double limit_gib, std::int64_t bytes, const char* how,
                         const char* advice) {
    if (limit_gib == 0 || static_cast<double>(bytes) <= limit_gib * kGib) return;
    throw InputError(fmt::format("`{}: {:g}`: the run would {} {} ({}); {}", key, limit_gib, how,
                                 HumanBytes(static_cast<double>(bytes)), Describe(plan), advice));
  };
  check("memory.allocated_limit_gib", config.memory.allocated_limit_gib, plan.allocated, "allocate",
        kToSpareMemory);
  check("memory.mapped_limit_gib", config.memory.mapped_limit_gib, plan.mapped, "map",
        "lower replay.updates, or set data.reading to read");
  check("memory.pinned_limit_gib", config.memory.pinned_limit_gib, plan.pinned, "pin",
        "lower prefetch.depth, data.cpu_prefetch or data.gpu_prefetch, or set prefetch.pinned to "
        "false");
}

std::string Describe(const MemoryPlan& plan) {
  const auto size = [](std::int64_t bytes) { return HumanBytes(static_cast<double>(bytes)); };
  std::string memory = size(plan.buffers) + " for two buffers";
  if (plan.replay > 0) memory += fmt::format(", {} for replay", size(plan.replay));
  if (plan.search > 0) memory += fmt::format(", at most {} for searches", size(plan.search));
  if (plan.shards > 0) memory += fmt::format(", {} for chunks of shards", size(plan.shards));
  memory += fmt::format(", {} for batches, {} for the network, {} for activations",
                        size(plan.batches), size(plan.network), size(plan.activations));
  if (plan.pinned + plan.mapped == 0) return memory;
  return memory + fmt::format("; in all {} allocated, {} of it pinned, and {} mapped",
                              size(plan.allocated), size(plan.pinned), size(plan.mapped));
}

}  // namespace tandem
