#include "train/components.h"

#include <algorithm>
#include <utility>

#include "data/examples.h"
#include "data/stream_folder.h"
#include "generate/generator.h"
#include "generate/labels.h"
#include "generate/shard_jobs.h"
#include "tandem/error.h"
#include "tandem/registry.h"
#include "tensor/tensor_programs.h"

namespace tandem {
namespace {

std::vector<std::string> ParameterNames(const Network& net) {
  std::vector<std::string> names;
  for (const auto& [name, parameter] : net.named_parameters()) names.push_back(name);
  return names;
}

// TBB's threads include the generator thread or the main thread, which wait for the others.
std::size_t MaxThreads(const Config& config) {
  return static_cast<std::size_t>(std::max(*config.generate.workers, *config.train.threads)) + 1;
}

std::optional<GradientReducer> MakeReducer(Ranks* ranks, RunStop& stop, Device& device) {
  if (ranks == nullptr) return std::nullopt;
  return std::optional<GradientReducer>(std::in_place, *ranks, *stop.agreed(), device);
}

}  // namespace

Components::Components(Config run, std::shared_ptr<Device> on, Ranks* among, RunStop& ends,
                       const TrainingHooks& hooks, const std::filesystem::path& folder,
                       const Checkpoint* from)
    : config(std::move(run)),
      device(std::move(on)),
      ranks(among),
      stop(ends),
      start(from != nullptr ? from->State() : RunState()),
      tbb_limit(tbb::global_control::max_allowed_parallelism, MaxThreads(config)),
      domain(MakeDomain(config.domain.full_name())),
      network(NetworkFor(config.network, domain->spec())),
      net(MakeNet(from)),
      target(MakeTarget()),
      shards(MakeShards()),
      stream(MakeStream(folder)),
      loader(*device, ExampleSchema(domain->spec(), config), config, stored(), rank()),
      reducer(MakeReducer(ranks, stop, *device)),
      trainer(*net, target.get(), loader, *device, config, reducer ? &*reducer : nullptr) {
  if (generates()) MakeGenerator();
  if (config.validation.every_updates > 0 && rank() == 0) {
    validator = std::make_unique<Validator>(*domain, network, *device, config);
  }
  if (target != nullptr) trainer.RefreshTarget();
  if (from != nullptr) {
    const RunState state = State({});
    from->LoadState(state.model, state.optimizer, state.target_network, state.average);
    device->Synchronize();  // the target network is read on another stream
  }
  if (stream != nullptr) {
    publisher = std::make_unique<StreamPublisher>(
        folder, config, domain->spec().identity(), *net, *device, *stream, stop.interrupter(),
        start.counters.updates, start.pipeline.target.refreshed);
  }
  const PipelineParts parts{.trainer = trainer,
                            .hooks = hooks,
                            .generator = generator.get(),
                            .replay = replay.get(),
                            .queue = queue.get(),
                            .labeller = labeller.get(),
                            .publisher = publisher.get(),
                            .interrupter = &stop.interrupter(),
                            .rank = rank()};
  pipeline =
      std::make_unique<Pipeline>(config, parts, start.counters.updates,
                                 UpdatePlan(config.train).updates(), start.pipeline, stop.signal());
}

std::unique_ptr<Network> Components::MakeNet(const Checkpoint* from) const {
  if (from != nullptr) from->CheckDomain(domain->spec().identity());
  auto made = from == nullptr ? MakeInitialNet(config, domain->spec())
                              : MakeNetwork(network, config.random_seed());
  made->To(device->torch());
  made->SetTraining(true);
  return made;
}

std::unique_ptr<InferenceNet> Components::MakeTarget() const {
  if (!generates() || !config.labels_with_network()) return nullptr;
  return std::make_unique<InferenceNet>(network, config.inference, *device);
}

std::unique_ptr<ShardLoader> Components::MakeShards() const {
  if (config.data.source != DataSource::kShards) return nullptr;
  ShardSet set(config.data.path);
  set.CheckFits(domain->spec(), config.network.head);
  return std::make_unique<ShardLoader>(*device, std::move(set), network.input.depth, config,
                                       start.position, &stop.interrupter());
}

std::unique_ptr<StreamLoader> Components::MakeStream(const std::filesystem::path& folder) const {
  if (!config.streams()) return nullptr;
  if (folder.empty()) {
    throw InputError(
        "`data.source: stream`: the run has no folder into which it could publish its weights. "
        "Give the run a folder, or set data.source to live.");
  }
  return std::make_unique<StreamLoader>(*device, StreamPathOf(folder, config),
                                        StreamKind(config, domain->spec()), network.input.depth,
                                        config, start.stream, stop.signal(), &stop.interrupter());
}

StoredExamples* Components::stored() const {
  if (stream != nullptr) return stream.get();
  return shards.get();
}

// In sync_main the generator queries the network being trained, and its rows are labelled later,
// unless they are of games.
void Components::MakeGenerator() {
  Evaluator* evaluator = target.get();
  const auto exact = MakeExactLabels(*domain, config);
  if (LabelsWhenTraining(config.pipeline.mode)) {
    online = std::make_unique<OnlineEvaluator>(trainer, config.inference, *device);
    queue = std::make_unique<InferenceQueue>(*online);
    if (target != nullptr) {
      labeller = std::make_unique<StoredStateLabeller>(*domain, *target, config, exact);
    }
    evaluator = queue.get();
  }
  generator = config.generate.program == Program::kTensor
                  ? MakeTensorGenerator(*domain, config, target.get(), *device)
                  : tandem::MakeGenerator(*domain, config, evaluator, exact);
  if (config.replay.updates > 0) {
    replay = WithMemoryAdvice("lower replay.updates", [&] {
      return std::make_unique<ReplayBuffer>(generator->schema(),
                                            static_cast<std::size_t>(config.live_rows()),
                                            config.replay.updates, config.random_seed());
    });
  }
}

void Components::UsePlan(const UpdatePlan& plan) {
  trainer.UsePlan(plan);
  pipeline->EndAt(plan.updates());
}

void Components::EndStream() const {
  if (publisher != nullptr) publisher->End();
}

RunState Components::State(const RunCounters& counters) const {
  return {.config = {},
          .counters = counters,
          .position = shards != nullptr ? std::optional(shards->position()) : std::nullopt,
          .stream = stream != nullptr ? std::optional(stream->position()) : std::nullopt,
          .pipeline = pipeline != nullptr ? pipeline->state() : PipelineState{},
          .model = net->State(),
          .optimizer = trainer.optimizer().State(ParameterNames(*net)),
          .target_network = target != nullptr ? target->State() : StateDict{},
          .average = trainer.average() != nullptr ? trainer.average()->net().State() : StateDict{}};
}

}  // namespace tandem
