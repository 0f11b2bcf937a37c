#include "train/components.h"

#include <algorithm>
#include <utility>

#include "generate/exact_labels.h"
#include "generate/generator.h"
#include "tandem/registry.h"
#include "train/run_directory.h"

namespace tandem {
namespace {

std::vector<std::string> ParameterNames(const Network& net) {
  std::vector<std::string> names;
  for (const auto& item : net.named_parameters()) names.push_back(item.key());
  return names;
}

// TBB's threads include the generator thread or the main thread, which wait for the others.
std::size_t MostThreads(const Config& config) {
  return static_cast<std::size_t>(std::max(*config.generate.workers, *config.train.threads)) + 1;
}

std::uint64_t SeedOf(const Config& config) { return static_cast<std::uint64_t>(config.seed); }

}  // namespace

std::unique_ptr<Network> MakeInitialNet(const Config& config, const DomainSpec& domain) {
  auto net = MakeNetwork(NetworkFor(config.network, domain), SeedOf(config));
  if (!config.network.init_from.empty()) {
    Checkpoint(CheckpointIn(config.network.init_from)).LoadModel(*net, domain.identity());
  }
  return net;
}

Components::Components(Config run_config, std::shared_ptr<Device> device_used,
                       ProgressListener& progress, const StopSignal& stop_signal,
                       const Checkpoint* from)
    : config(std::move(run_config)),
      stop(stop_signal),
      device(std::move(device_used)),
      tbb_limit(tbb::global_control::max_allowed_parallelism, MostThreads(config)),
      domain(MakeDomain(config.domain.full_name())),
      network(NetworkFor(config.network, domain->spec())),
      net(MakeNet(from)),
      target(MakeTarget()),
      shards(MakeShards(from)),
      loader(*device, ExampleSchema(domain->spec(), config), config, shards.get()),
      trainer(*net, target.get(), loader, *device, config),
      parts{.trainer = trainer, .progress = progress} {
  if (generates()) MakeGenerator();
  if (config.validation.every_updates > 0) {
    validator = std::make_unique<Validator>(*domain, network, *device, config);
  }
  if (target != nullptr) trainer.RefreshTarget();
  if (from != nullptr) {
    const RunState state = State({});
    from->LoadState(state.model, state.optimizer, state.target_network, state.average);
    device->Synchronize();  // the target network is read on another stream
  }
  const std::int64_t update = from != nullptr ? from->Counters().updates : 0;
  batch_size = config.batch_size_of(update);
  loader.UseBatchSize(batch_size);
  MakePipeline(update, from != nullptr ? from->Target() : TargetState{});
}

std::unique_ptr<Network> Components::MakeNet(const Checkpoint* from) const {
  if (from != nullptr) from->CheckDomain(domain->spec().identity());
  auto made = from == nullptr ? MakeInitialNet(config, domain->spec())
                              : MakeNetwork(network, SeedOf(config));
  made->to(device->torch());
  made->train();
  return made;
}

std::unique_ptr<InferenceNet> Components::MakeTarget() const {
  if (!generates() || !NeedsNetwork(config.generate.target)) return nullptr;
  return std::make_unique<InferenceNet>(network, config.inference, *device);
}

std::unique_ptr<ShardLoader> Components::MakeShards(const Checkpoint* from) const {
  if (config.data.source != DataSource::kShards) return nullptr;
  ShardSet set(config.data.path);
  set.CheckFits(domain->spec(), config.network.head);
  return std::make_unique<ShardLoader>(*device, std::move(set), config,
                                       from != nullptr ? from->Position() : std::nullopt);
}

// In sync_main the generator queries the network being trained, and its rows are labelled later.
void Components::MakeGenerator() {
  Evaluator* asked = target.get();
  const auto exact = MakeExactLabels(*domain, config);
  if (config.pipeline.mode == Mode::kSyncMain) {
    online = std::make_unique<OnlineEvaluator>(trainer, config.inference, *device);
    queue = std::make_unique<InferenceQueue>(*online);
    bellman = std::make_unique<BellmanTargets>(*domain, *target, config, exact);
    asked = queue.get();
  }
  generator = tandem::MakeGenerator(*domain, config, asked, exact);
  if (config.replay.updates > 0) {
    replay = std::make_unique<ReplayBuffer>(
        generator->schema(), static_cast<std::size_t>(config.live_rows_of(0)),
        config.replay.updates, static_cast<std::uint64_t>(config.seed), config.replay.map_to);
  }
  parts.generator = generator.get();
  parts.replay = replay.get();
  parts.queue = queue.get();
  parts.bellman = bellman.get();
}

// The pipeline ends where the batch size changes, so that it starts no fill that no update will
// use.
void Components::MakePipeline(std::int64_t first_update, const TargetState& target_state) {
  std::int64_t end = *config.train.max_updates;
  if (const std::int64_t every = config.train.batch_doubles_every; every > 0) {
    end = std::min(end, (first_update / every + 1) * every);
  }
  pipeline = std::make_unique<Pipeline>(config, parts, first_update, end, target_state, stop);
}

void Components::UseBatchSizeOf(std::int64_t update) {
  if (config.batch_size_of(update) == batch_size) return;
  const TargetState target_state = pipeline->target();
  pipeline.reset();
  batch_size = config.batch_size_of(update);
  loader.UseBatchSize(batch_size);
  MakePipeline(update, target_state);
}

void Components::UsePlan(const UpdatePlan& plan) {
  trainer.UsePlan(plan);
  pipeline->EndAt(plan.updates());
}

std::int64_t Components::NumEvaluated() const {
  return (target != nullptr ? target->num_rows() : 0) +
         (online != nullptr ? online->num_rows() : 0);
}

RunState Components::State(const RunCounters& counters) const {
  return {.config = {},
          .counters = counters,
          .position = shards != nullptr ? std::optional(shards->position()) : std::nullopt,
          .target = pipeline != nullptr ? pipeline->target() : TargetState{},
          .model = StateDictOf(*net),
          .optimizer = trainer.optimizer().State(ParameterNames(*net)),
          .target_network = target != nullptr ? target->State() : StateDict{},
          .average =
              trainer.average() != nullptr ? StateDictOf(trainer.average()->net()) : StateDict{}};
}

}  // namespace tandem
