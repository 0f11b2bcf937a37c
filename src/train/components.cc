#include "train/components.h"

#include <algorithm>
#include <filesystem>

#include "data/loader.h"
#include "generate/generator.h"
#include "tandem/registry.h"

namespace tandem {
namespace {

std::vector<std::string> ParameterNames(const ResNetFC& net) {
  std::vector<std::string> names;
  for (const auto& item : net.named_parameters()) names.push_back(item.key());
  return names;
}

}  // namespace

TrainRun::Components::Components(const Config& config, std::shared_ptr<Device> device_used,
                                 const StopSignal& stop, const Checkpoint* from)
    : device(std::move(device_used)),
      tbb_limit(
          tbb::global_control::max_allowed_parallelism,
          static_cast<std::size_t>(std::max(*config.generate.workers, *config.train.threads)) + 1),
      domain(MakeDomain(config.domain.full_name())),
      schema(ExampleSchema(domain->spec(), config.network.head)),
      network(NetworkFor(config.network, domain->spec())),
      net(network, static_cast<std::uint64_t>(config.seed)) {
  if (from != nullptr) from->CheckDomain(domain->spec().identity());
  if (!config.network.init_from.empty() && from == nullptr) {
    Checkpoint(CheckpointIn(config.network.init_from)).LoadModel(net, domain->spec().identity());
  }
  net.to(device->torch());
  net.train();
  if (config.generate.target != Target::kWalkLength) MakeEvaluators(config);
  Evaluator* generating = queue != nullptr ? static_cast<Evaluator*>(queue.get()) : evaluator.get();
  generator = MakeGenerator(*domain, config, generating);
  const std::int64_t update = from != nullptr ? from->Counters().updates : 0;
  batch_size = config.batch_size_of(update);
  if (config.data.source == DataSource::kShards) MakeShards(config, from);
  MakeLoaders(config);
  trainer = MakeTrainer(config);
  if (current != nullptr) {
    trainer->OnIteration([this](std::int64_t /*iteration*/) { current->Changed(); });
  }
  if (config.replay.updates > 0) MakeReplay(config);
  if (config.validation.every_updates > 0) {
    validator = std::make_unique<Validator>(*domain, network, *device, config);
  }
  if (target != nullptr) trainer->PublishTarget();
  if (from != nullptr) {
    const RunState state = State({});
    from->LoadState(state.model, state.optimizer, state.target_network);
    device->Synchronize();  // the target network is read on another stream
  }
  pipeline = MakePipeline(config, stop, update, from != nullptr ? from->Target() : TargetState{});
}

void TrainRun::Components::UseBatchSizeOf(std::int64_t update, const Config& config,
                                          const StopSignal& stop) {
  if (config.batch_size_of(update) == batch_size) return;
  const TargetState target_state = pipeline->target();
  pipeline.reset();
  batch_size = config.batch_size_of(update);
  MakeLoaders(config);
  trainer->UseLoader(loader());
  pipeline = MakePipeline(config, stop, update, target_state);
}

void TrainRun::Components::UsePlan(const UpdatePlan& plan) {
  trainer->UsePlan(plan);
  pipeline->EndAt(plan.updates());
}

void TrainRun::Components::MakeShards(const Config& config, const Checkpoint* from) {
  ShardSet set(config.data.path);
  set.CheckFits(domain->spec(), schema);
  shards = std::make_unique<ShardLoader>(
      *device, std::move(set),
      ShardLoaderOptions{.seed = static_cast<std::uint64_t>(config.seed),
                         .depths = DepthsFor(config.data),
                         .reading = config.data.reading,
                         .on_damage = config.data.on_damage,
                         .slots = SlotOptionsFor(config.prefetch)},
      from != nullptr ? from->Position() : std::nullopt);
}

// Builds the loaders for batches of `batch_size`.
void TrainRun::Components::MakeLoaders(const Config& config) {
  mixed.reset();
  live.reset();  // free the old loader before building the new one
  const std::int64_t live_rows = config.live_part_of(batch_size);
  if (live_rows > 0) {
    live = MakeLoader(
        *device, schema, config.prefetch.enabled,
        LoaderOptionsFor(config.prefetch, live_rows, static_cast<std::uint64_t>(config.seed)));
  }
  if (shards == nullptr) return;
  shards->UseBatchSize(batch_size - live_rows);
  if (live != nullptr) mixed = std::make_unique<InterleavedLoader>(*live, *shards);
}

DataLoader& TrainRun::Components::loader() const {
  if (mixed != nullptr) return *mixed;
  return live != nullptr ? *live : *shards;
}

void TrainRun::Components::MakeEvaluators(const Config& config) {
  const at::ScalarType type = WeightTypeFor(config.inference);
  const TorchEvaluatorOptions options = EvaluatorOptionsFor(config.inference);
  target = std::make_unique<FrozenNet>(network, type, device->torch());
  evaluator = std::make_unique<TorchEvaluator>(*target, *device, network, options);
  if (config.pipeline.mode != Mode::kSyncMain) return;
  current = std::make_unique<OnlineEvaluator>(net, type, *device, options);
  queue = std::make_unique<InferenceQueue>(*current);
  targets = std::make_unique<BellmanTargets>(*domain, *evaluator, config);
}

std::unique_ptr<TorchTrainer> TrainRun::Components::MakeTrainer(const Config& config) {
  return std::make_unique<TorchTrainer>(
      net, target.get(), loader(), *device,
      TorchTrainerOptions{.optimizer = config.optimizer,
                          .loss = config.train.loss,
                          .huber_delta = config.train.huber_delta,
                          .accumulation_steps = config.train.accumulation_steps,
                          .iterations_per_update = config.train.iterations_per_update,
                          .plan = UpdatePlan(config.train),
                          .threads = static_cast<int>(*config.train.threads),
                          .bf16 = config.train.precision == Precision::kBf16});
}

void TrainRun::Components::MakeReplay(const Config& config) {
  const bool of_states = config.pipeline.mode == Mode::kSyncMain;
  replay = std::make_unique<ReplayBuffer>(
      generator->schema(), static_cast<std::size_t>(config.live_rows_of(0)), config.replay.updates,
      static_cast<std::uint64_t>(config.seed), config.replay.map_to);
  if (!of_states) replay_trainer = std::make_unique<ReplayTrainer>(*trainer, *replay);
}

// The pipeline ends where the batch size changes, so that it starts no fill that no update will
// use.
std::unique_ptr<Pipeline> TrainRun::Components::MakePipeline(const Config& config,
                                                             const StopSignal& stop,
                                                             std::int64_t first_update,
                                                             const TargetState& target_state) {
  std::int64_t end = *config.train.max_updates;
  if (const std::int64_t every = config.train.batch_doubles_every; every > 0) {
    end = std::min(end, (first_update / every + 1) * every);
  }
  const PipelineOptions options{.rows_per_update = config.live_rows_of(first_update),
                                .max_updates = end,
                                .policy_lag = *config.pipeline.policy_lag,
                                .loss_thresh = config.pipeline.loss_thresh,
                                .first_update = first_update,
                                .target = target_state};
  if (config.pipeline.mode == Mode::kSyncMain) {
    return MakeSyncMainPipeline(*generator, *trainer, schema, options, stop,
                                {.queue = *queue, .replay = *replay, .targets = *targets});
  }
  Trainer& trains = replay_trainer != nullptr ? static_cast<Trainer&>(*replay_trainer) : *trainer;
  const bool overlaps = config.pipeline.mode == Mode::kAsync && config.pipeline.overlap;
  const auto make = overlaps ? &MakeAsyncPipeline : &MakeSequentialPipeline;
  return make(*generator, trains, schema, options, stop);
}

std::int64_t TrainRun::Components::NumEvaluated() const {
  return (evaluator != nullptr ? evaluator->num_rows() : 0) +
         (current != nullptr ? current->num_rows() : 0);
}

RunState TrainRun::Components::State(const RunCounters& counters) const {
  return {.config = {},
          .counters = counters,
          .position = shards != nullptr ? std::optional(shards->position()) : std::nullopt,
          .target = pipeline != nullptr ? pipeline->target() : TargetState{},
          .model = StateDictOf(net),
          .optimizer = trainer->optimizer().State(ParameterNames(net)),
          .target_network = target != nullptr ? target->State() : StateDict{}};
}

}  // namespace tandem
