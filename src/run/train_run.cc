#include "run/train_run.h"

#include <fmt/format.h>
#include <oneapi/tbb/global_control.h>
#include <sys/resource.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "config/fields.h"
#include "config/load.h"
#include "generate/value_iteration.h"
#include "generate/walk_length.h"
#include "nn/tensor_file.h"
#include "nn/torch_evaluator.h"
#include "tandem/registry.h"
#include "train/prefetch.h"
#include "train/torch_trainer.h"

namespace tandem {
namespace {

at::ScalarType TypeOf(Precision precision) {
  return precision == Precision::kBf16 ? at::kBFloat16 : at::kFloat;
}

std::int64_t PeakRssBytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return std::int64_t{usage.ru_maxrss} * 1024;
}

}  // namespace

// Everything that works for the run, in the order of construction.
struct TrainRun::Parts {
  Parts(const TrainConfig& config, std::shared_ptr<Device> device_used, StopSignal& stop)
      : device(std::move(device_used)),
        tbb_limit(
            tbb::global_control::max_allowed_parallelism,
            static_cast<std::size_t>(std::max(*config.generate.workers, *config.train.threads)) +
                1),
        domain(MakeDomain(config.domain.full_name())),
        schema(ExampleSchema(domain->spec(), config.network.head)),
        network(NetworkFor(config.network, domain->spec())),
        net(network, static_cast<std::uint64_t>(config.seed)) {
    net.to(device->torch());
    net.train();
    generator = MakeGenerator(config);
    loader = std::make_unique<PrefetchLoader>(
        *device, schema,
        PrefetchOptions{.batch_size = config.train.batch_size,
                        .depth = config.prefetch.depth,
                        .seed = static_cast<std::uint64_t>(config.seed)});
    trainer = std::make_unique<TorchTrainer>(
        net, target.get(), *loader, *device,
        TorchTrainerOptions{
            .optimizer = config.optimizer,
            .iterations_per_update = config.train.iterations_per_update,
            .iterations = *config.train.max_updates * config.train.iterations_per_update,
            .threads = static_cast<int>(*config.train.threads),
            .bf16 = config.train.precision == Precision::kBf16});
    if (target != nullptr) trainer->PublishTarget();
    const PipelineOptions options{.rows_per_update = config.rows_per_update(),
                                  .max_updates = *config.train.max_updates,
                                  .policy_lag = *config.pipeline.policy_lag};
    const auto make_pipeline =
        config.pipeline.mode == Mode::kAsync ? &MakeAsyncPipeline : &MakeSequentialPipeline;
    pipeline = make_pipeline(*generator, *trainer, schema, options, stop);
  }

  std::unique_ptr<Generator> MakeGenerator(const TrainConfig& config) {
    const auto seed = static_cast<std::uint64_t>(config.seed);
    const int workers = static_cast<int>(*config.generate.workers);
    if (config.generate.target == Target::kWalkLength) {
      return std::make_unique<WalkLengthGenerator>(
          *domain, WalkLengthOptions{.head = config.network.head,
                                     .seed = seed,
                                     .length = config.generate.max_scramble,
                                     .chunk_rows = config.generate.chunk_rows,
                                     .workers = workers});
    }
    target =
        std::make_unique<FrozenNet>(network, TypeOf(config.evaluate.precision), device->torch());
    evaluator = std::make_unique<TorchEvaluator>(
        *target, *device, network,
        TorchEvaluatorOptions{.batch_rows = config.evaluate.batch_rows,
                              .threads = static_cast<int>(*config.evaluate.threads)});
    return std::make_unique<ValueIterationGenerator>(
        *domain, *evaluator,
        ValueIterationOptions{.head = config.network.head,
                              .seed = seed,
                              .max_scramble = config.generate.max_scramble,
                              .chunk_rows = config.generate.chunk_rows,
                              .workers = workers});
  }

  std::shared_ptr<Device> device;
  tbb::global_control tbb_limit;
  std::unique_ptr<const Domain> domain;
  Schema schema;
  NetworkSpec network;
  ResNetFC net;
  std::unique_ptr<FrozenNet> target;     // null where no generator asks a network
  std::unique_ptr<Evaluator> evaluator;  // likewise
  std::unique_ptr<Generator> generator;
  std::unique_ptr<BatchLoader> loader;
  std::unique_ptr<TorchTrainer> trainer;
  std::unique_ptr<Pipeline> pipeline;
};

TrainRun::TrainRun(const TrainConfig& config, std::shared_ptr<Device> device,
                   std::optional<RunDirectory> directory, const StopSignal& stop, Stopwatch began)
    : config_(config),
      directory_(std::move(directory)),
      began_(began),
      device_description_(device->description()),
      stop_(&stop),
      parts_(std::make_unique<Parts>(config_, std::move(device), stop_)) {
  so_far_.parameters = num_parameters();
  if (config_.train.max_seconds > 0) {
    stop_.SetDeadline(began_.start() +
                      std::chrono::duration_cast<StopSignal::Clock::duration>(
                          std::chrono::duration<double>(config_.train.max_seconds)));
  }
  parts_->trainer->OnIteration([this](std::int64_t iteration) { OnIteration(iteration); });
  if (directory_) WriteFileAtomically(directory_->config(), ToYaml(config_));
}

TrainRun::~TrainRun() = default;

void TrainRun::AddObserver(TrainObserver& observer) { observers_.push_back(&observer); }

std::int64_t TrainRun::num_parameters() const { return parts_->net.NumParameters(); }

std::int64_t TrainRun::buffer_bytes() const {
  return 2 * static_cast<std::int64_t>(DataBuffer::BytesFor(
                 parts_->schema, static_cast<std::size_t>(config_.rows_per_update())));
}

bool TrainRun::RunUpdate() {
  if (ended_) return false;
  try {
    const UpdateRecord record = parts_->pipeline->RunUpdate();
    Record(record);
  } catch (const Stopped&) {
    // The signal came while the main thread waited for a buffer.
  }
  const bool all_done = so_far_.updates == *config_.train.max_updates;  // whole ones
  if (!all_done && stop_.Reached()) {
    so_far_.end = stop_.requested() ? RunEnd::kStopped : RunEnd::kTimeLimit;
  }
  ended_ = all_done || so_far_.end != RunEnd::kAllUpdates;
  return !ended_;
}

void TrainRun::OnIteration(std::int64_t iteration) {
  if (observers_.empty()) return;
  const Progress progress{
      .iterations_done = iteration + 1,
      .iterations = *config_.train.max_updates * config_.train.iterations_per_update,
      .examples = (iteration + 1) * config_.train.batch_size,
      .seconds = began_.Seconds(),
      .max_seconds = config_.train.max_seconds,
      .loss = so_far_.iterations > 0 ? std::optional(so_far_.final_loss) : std::nullopt};
  for (TrainObserver* observer : observers_) observer->OnIteration(progress);
}

void TrainRun::Record(const UpdateRecord& record) {
  const TrainStats& train = record.train;
  if (train.iterations == 0) return;
  const bool whole = train.iterations == config_.train.iterations_per_update;
  if (whole) ++so_far_.updates;
  so_far_.iterations += train.iterations;
  so_far_.examples += train.examples;
  so_far_.generate_s += record.fill.seconds;
  so_far_.train_s += train.seconds;
  so_far_.wait_for_rows_s += record.wait_for_rows_s;
  so_far_.final_loss = train.loss;
  if (directory_) {
    directory_->AppendMetrics(
        {{"update", record.update},
         {"elapsed_s", began_.Seconds()},
         {"iterations", train.iterations},
         {"examples", train.examples},
         {"examples_per_s", static_cast<double>(train.examples) / record.seconds},
         {"loss", train.loss},
         {"learning_rate", train.learning_rate},
         {"update_s", record.seconds},
         {"generate_s", record.fill.seconds},
         {"generator_wait_s", record.fill.wait_s},
         {"train_s", train.seconds},
         {"wait_for_rows_s", record.wait_for_rows_s},
         {"wait_for_batch_s", train.wait_for_batch_s},
         {"lag_updates", record.lag_updates},
         {"target_age_iterations", record.lag_updates * config_.train.iterations_per_update}});
    // Finish writes the last one.
    const bool last = so_far_.updates == *config_.train.max_updates;
    if (whole && !last && so_far_.updates % config_.checkpoint.every_updates == 0) {
      WriteCheckpoint(WeightsSha256(StateDictOf(parts_->net)));
    }
  }
  for (TrainObserver* observer : observers_) observer->OnUpdate(record);
}

void TrainRun::WriteCheckpoint(const std::string& weights_sha256) const {
  const Optimizer& optimizer = parts_->trainer->optimizer();
  TensorDict moments = MakeTensorDict();
  moments.insert("steps", optimizer.steps().cpu());
  std::size_t i = 0;
  for (const auto& item : parts_->net.named_parameters()) {
    moments.insert("mean." + item.key(), optimizer.mean_gradients()[i].cpu());
    moments.insert("mean_square." + item.key(), optimizer.mean_squared_gradients()[i].cpu());
    ++i;
  }
  TensorDict checkpoint = MakeTensorDict();
  checkpoint.insert("schema", kCheckpointSchema);
  checkpoint.insert("updates", so_far_.updates);
  checkpoint.insert("iterations", so_far_.iterations);
  checkpoint.insert("weights_sha256", weights_sha256);
  checkpoint.insert("model", ToTensorDict(StateDictOf(parts_->net)));
  checkpoint.insert("optimizer", moments);
  WriteTensorFile(directory_->checkpoint(), checkpoint);
}

RunSummary TrainRun::Finish() {
  RunSummary summary = so_far_;
  summary.weights_sha256 = WeightsSha256(StateDictOf(parts_->net));
  if (directory_) WriteCheckpoint(summary.weights_sha256);
  summary.wall_s = began_.Seconds();
  summary.peak_rss_bytes = PeakRssBytes();
  if (directory_) WriteSummary(summary);
  return summary;
}

void TrainRun::WriteSummary(const RunSummary& summary) const {
  constexpr const char* kEnds[] = {"max_updates", "max_seconds", "stopped"};
  const nlohmann::ordered_json json = {
      {"schema", 1},
      {"ended_by", kEnds[static_cast<int>(summary.end)]},
      {"mode", ValueText(config_, "pipeline.mode")},
      {"device", device_description_},
      {"parameters", summary.parameters},
      {"updates", summary.updates},
      {"iterations", summary.iterations},
      {"examples", summary.examples},
      {"wall_s", summary.wall_s},
      {"examples_per_s", static_cast<double>(summary.examples) / summary.wall_s},
      {"generate_s", summary.generate_s},
      {"train_s", summary.train_s},
      {"wait_for_rows_s", summary.wait_for_rows_s},
      {"final_loss", summary.final_loss},
      {"peak_rss_bytes", summary.peak_rss_bytes},
      {"weights_sha256", summary.weights_sha256}};
  WriteFileAtomically(directory_->summary(), json.dump(2) + "\n");
}

}  // namespace tandem
