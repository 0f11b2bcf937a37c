#include "train/components.h"

#include <c10/core/GradMode.h>
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "data/examples.h"
#include "data/stream_manifest.h"
#include "generate/exact_labels.h"
#include "generate/generator.h"
#include "generate/spec_of_set.h"
#include "tandem/error.h"
#include "tandem/registry.h"
#include "tensor/tensor_generator.h"
#include "train/initial_network.h"

namespace tandem {
namespace {

// Returns the generator that generate.program selects. `evaluator` is `target`, or what takes its
// place in sync_main; both are null if no rows are labelled by a network.
std::unique_ptr<Generator> GeneratorFor(const Domain& domain, const Config& config,
                                        InferenceNet* target, Evaluator* evaluator,
                                        std::shared_ptr<const ExactLabels> exact, Device& device) {
  if (config.generate.program == Program::kTensor) {
    return MakeTensorGenerator(domain, config, target, device);
  }
  return MakeGenerator(domain, config, evaluator, std::move(exact));
}

std::vector<std::string> ParameterNames(const Network& net) {
  std::vector<std::string> names;
  for (const auto& [name, parameter] : net.named_parameters()) names.push_back(name);
  return names;
}

// TBB's threads include the generator thread or the main thread, which wait for the others.
std::size_t MaxThreads(const Config& config) {
  return static_cast<std::size_t>(std::max(*config.generate.workers, *config.train.threads)) + 1;
}

// The target network of a new phase starts with the weights with which the previous phase ended,
// and its scrambles with the length that the previous phase reached.
PipelineState PipelineStateAfter(const RunState& ended) {
  const double solve_rate = ended.pipeline.target.solve_rate;
  return {.target = {.offered = ended.counters.updates,
                     .refreshed = ended.counters.updates,
                     .last_loss = 0,
                     .solve_rate = solve_rate,
                     .rate_at_refresh = solve_rate},
          .longest_scramble = ended.pipeline.longest_scramble};
}

StartPoint StartOf(const PhasePlan& plan, const Origin& origin) {
  if (const Checkpoint* const from = origin.checkpoint; from != nullptr) {
    return {.update = from->Counters().updates,
            .shards = from->PositionInShards(),
            .stream = from->PositionInStream(),
            .pipeline = from->Pipeline()};
  }
  if (origin.ended == nullptr) return {.update = plan.first_update};
  return {.update = plan.first_update,
          .shards = origin.ended->position,
          .stream = origin.ended->stream,
          .pipeline = PipelineStateAfter(*origin.ended)};
}

std::optional<GradientReducer> MakeReducer(const std::optional<RankLinks>& links, Device& device) {
  if (!links) return std::nullopt;
  return std::optional<GradientReducer>(std::in_place, links->ranks, links->stop, device);
}

}  // namespace

void CheckLaterPhases(const Config& run, std::int64_t current, Device& device) {
  for (std::int64_t phase = current + 1; phase <= std::ssize(run.phases); ++phase) {
    const Config config = ConfigOfPhase(run, phase);
    const auto domain = MakeDomain(config.domain.full_name());
    if (config.streams() && StreamKind(config, domain->spec()) != StreamKind(run, domain->spec())) {
      throw InputError(fmt::format(
          "phase {}: with `data.source: stream`, generators follow the config of the run, so no "
          "phase can change which rows are generated: {}. Remove that from the phase, or set "
          "data.source to live.",
          phase,
          DescribeDifference(StreamKind(config, domain->spec()), StreamKind(run, domain->spec()))));
    }
    if (config.live_rows_of(0) == 0) continue;
    std::unique_ptr<InferenceNet> target;
    if (NeedsNetwork(config.generate.target)) {
      target = std::make_unique<InferenceNet>(NetworkFor(config.network, domain->spec()),
                                              config.inference, device);
    }
    try {
      GeneratorFor(*domain, config, target.get(), target.get(), MakeExactLabels(*domain, config),
                   device);
    } catch (const InputError& error) {
      throw InputError(fmt::format("phase {}: {}", phase, error.what()));
    }
  }
}

Components::Components(const Config& run, PhasePlan phase, RunContext shared, const Origin& origin)
    : config(ConfigOfPhase(run, phase.phase)),
      plan(std::move(phase)),
      context(std::move(shared)),
      start(StartOf(plan, origin)),
      tbb_limit(tbb::global_control::max_allowed_parallelism, MaxThreads(config)),
      domain(MakeDomain(config.domain.full_name())),
      network(NetworkFor(config.network, domain->spec())),
      net(MakeNet(origin)),
      target(MakeTarget()),
      shards(MakeShards()),
      stream(MakeStream()),
      loader(*context.device, ExampleSchema(domain->spec(), config), config, stored(), rank()),
      reducer(MakeReducer(context.links, *context.device)),
      trainer(*net, target.get(), loader, *context.device, config, reducer ? &*reducer : nullptr) {
  trainer.UsePlan(plan);
  if (generates()) MakeGenerator();
  if (config.validation.every_updates > 0 && rank() == 0) {
    // All phases validate on the same states, which depend on generate.max_scramble.
    validator = std::make_unique<Validator>(*domain, network, *context.device, run);
  }
  if (origin.ended != nullptr) CopyWeightsOf(*origin.ended);
  if (target != nullptr) trainer.RefreshTarget();
  if (origin.checkpoint != nullptr) {
    const RunState state = State({});
    origin.checkpoint->LoadState(state.model, state.optimizer, state.target_network, state.average);
    context.device->Synchronize();  // the target network is read on another stream
  }
  if (stream != nullptr) {
    const Network& labels = config.train.labels_with_average() ? trainer.average()->net() : *net;
    publisher = std::make_unique<StreamPublisher>(
        context.folder, run, domain->spec().identity(), labels, *context.device, *stream,
        context.interrupter, start.update, start.pipeline.target.refreshed);
  }
  batch_size = config.batch_size_of(start.update);
  loader.UseBatchSize(batch_size);
  MakePipeline(start.update, start.pipeline);
}

std::unique_ptr<Network> Components::MakeNet(const Origin& origin) const {
  if (origin.checkpoint != nullptr) origin.checkpoint->CheckDomain(domain->spec().identity());
  const bool is_new = origin.checkpoint == nullptr && origin.ended == nullptr;
  auto made =
      is_new ? MakeInitialNet(config, domain->spec()) : MakeNetwork(network, config.random_seed());
  made->To(context.device->torch());
  made->SetTraining(true);
  return made;
}

std::unique_ptr<InferenceNet> Components::MakeTarget() const {
  if (!generates() || !NeedsNetwork(config.generate.target)) return nullptr;
  return std::make_unique<InferenceNet>(network, config.inference, *context.device);
}

std::unique_ptr<ShardLoader> Components::MakeShards() const {
  if (config.data.source != DataSource::kShards) return nullptr;
  ShardSet set(config.data.path);
  set.CheckFits(domain->spec(), config.network.head);
  return std::make_unique<ShardLoader>(*context.device, std::move(set), network.input.depth, config,
                                       start.shards, &context.interrupter);
}

std::unique_ptr<StreamLoader> Components::MakeStream() const {
  if (!config.streams()) return nullptr;
  if (context.folder.empty()) {
    throw InputError(
        "`data.source: stream`: the run has no folder into which it could publish its weights. "
        "Give the run a folder, or set data.source to live.");
  }
  return std::make_unique<StreamLoader>(*context.device, StreamPathOf(context.folder, config),
                                        StreamKind(config, domain->spec()), network.input.depth,
                                        config, start.stream, context.stop, &context.interrupter);
}

StoredExamples* Components::stored() const {
  if (stream != nullptr) return stream.get();
  return shards.get();
}

// Copies the weights of the network and their moving average. They come from components of the same
// network, so names and shapes agree.
void Components::CopyWeightsOf(const RunState& ended) {
  const c10::NoGradGuard no_grad;
  const auto copy = [](const StateDict& from, const StateDict& into) {
    for (std::size_t i = 0; i < into.size(); ++i) into[i].second.copy_(from.at(i).second);
  };
  copy(ended.model, net->State());
  if (trainer.average() != nullptr) copy(ended.average, trainer.average()->net().State());
}

// In sync_main the generator queries the network being trained, and its rows are labelled later.
void Components::MakeGenerator() {
  Evaluator* evaluator = target.get();
  const auto exact = MakeExactLabels(*domain, config);
  if (LabelsWhenTraining(config.pipeline.mode)) {
    online = std::make_unique<OnlineEvaluator>(trainer, config.inference, *context.device);
    queue = std::make_unique<InferenceQueue>(*online);
    labeller = std::make_unique<StoredStateLabeller>(*domain, *target, config, exact);
    evaluator = queue.get();
  }
  generator = GeneratorFor(*domain, config, target.get(), evaluator, exact, *context.device);
  if (config.replay.updates > 0) {
    replay = WithMemoryAdvice("lower replay.updates", [&] {
      return std::make_unique<ReplayBuffer>(generator->schema(),
                                            static_cast<std::size_t>(config.live_rows_of(0)),
                                            config.replay.updates, config.random_seed());
    });
  }
}

// The pipeline ends with the phase, or where the batch size changes, so that it starts no fill that
// no update will use.
std::int64_t Components::EndOfPipeline(std::int64_t first_update) const {
  const std::int64_t every = config.train.batch_doubles_every;
  return every > 0 ? std::min(plan.end(), (first_update / every + 1) * every) : plan.end();
}

void Components::MakePipeline(std::int64_t first_update, const PipelineState& state) {
  const PipelineParts parts{.trainer = trainer,
                            .hooks = context.hooks,
                            .generator = generator.get(),
                            .replay = replay.get(),
                            .queue = queue.get(),
                            .labeller = labeller.get(),
                            .publisher = publisher.get(),
                            .interrupter = &context.interrupter,
                            .rank = rank()};
  pipeline = std::make_unique<Pipeline>(config, parts, first_update, EndOfPipeline(first_update),
                                        state, context.stop);
}

void Components::PrepareUpdate(std::int64_t update) {
  if (config.batch_size_of(update) == batch_size && pipeline->has_next()) return;
  const PipelineState state = pipeline->state();
  pipeline.reset();
  batch_size = config.batch_size_of(update);
  loader.UseBatchSize(batch_size);
  MakePipeline(update, state);
}

// A pipeline without a next update has started no fill for it, so only a new pipeline can go on.
void Components::UsePlan(const PhasePlan& changed) {
  plan = changed;
  trainer.UsePlan(plan);
  if (pipeline->has_next()) pipeline->EndAt(EndOfPipeline(pipeline->next_update()));
}

void Components::AttachTo(RunSaver& saver) {
  attachment.emplace(saver, RunSaver::Sources{.replay = replay.get(), .stream = stream.get()});
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
