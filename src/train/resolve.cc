#include "train/resolve.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "base/log.h"
#include "base/text.h"
#include "config/fields.h"
#include "config/update_plan.h"
#include "nn/backend.h"
#include "nn/device.h"
#include "tandem/registry.h"
#include "train/train_run.h"

namespace tandem {

namespace {

void MakeAbsolute(std::string& path) {
  if (!path.empty()) path = std::filesystem::absolute(path).lexically_normal().string();
}

// Returns whether the argument of the puzzle is a path. Names of the puzzles that come with Tandem
// are not paths, even if a file has the same name.
bool IsPath(const DomainConfig& domain) {
  return ReadsFile(domain.name) && domain.argument.find_first_of("./") != std::string::npos;
}

// The measurement takes at most this share of a run.
constexpr double kProbeShare = 0.05;
constexpr double kProbeSeconds = 4;

// A probe that has not finished its first updates ends this multiple of its length after it was set
// up, so that measuring takes at most a tenth of a run.
constexpr double kPatience = 2;

// Rows of a probe's chunks. A fill ends between two chunks, and a puzzle in Python may take a
// second for a thousand rows.
constexpr std::int64_t kProbeChunkRows = 256;

// Iterations of a probe's update. They are few, so that several updates fit. The times of
// generating and training are both proportional to the rows.
constexpr std::int64_t kProbeIterations = 10;

// With fewer updates, the last one would end far from the time limit, and the target network would
// be refreshed too rarely. A run whose speed could not be measured begins with this number: the few
// updates before its first revision must not be most of the learning-rate schedule.
constexpr std::int64_t kFewestUpdates = 40;

// Returns the config of a probe, whose network is discarded. Its scrambles have the lengths of the
// end of a curriculum, and it generates all rows itself, to use up none of a stream.
Config ProbeFor(Config config) {
  config.validation.every_updates = 0;
  config.train.watchdog_seconds = 0;
  if (config.streams()) config.data = DataConfig();
  config.train.max_updates = 1'000'000;
  config.train.plan.clear();
  config.generate.curriculum = false;
  config.train.max_seconds = 0;
  config.train.iterations_per_update =
      std::min(config.train.iterations_per_update, kProbeIterations);
  if (config.generate.program == Program::kDomain) {
    config.generate.chunk_rows = std::min(config.generate.rows_of_chunk(), kProbeChunkRows);
  }
  return config;
}

// Returns how many iterations per second a run does, including its waits for buffers. Returns
// nothing if no iteration ended in time.
std::optional<double> IterationsPerSecond(const Config& config, const RunOptions& of_run,
                                          double length_s) {
  StopSignal ends(&of_run.stop.get());
  TrainRun run(ProbeFor(config), {.device = of_run.device, .stop = ends});
  const Stopwatch since_set_up;
  ends.SetDeadlineIn(kPatience * length_s);  // setting up may take longer than that
  run.RunUpdate();  // the cold start, and code that is slow on its first call
  const Stopwatch watch;
  double measured = 0;
  std::int64_t iterations = 0;
  while (watch.Seconds() < length_s && run.RunUpdate()) {
    measured = watch.Seconds();
    iterations += run.config().train.iterations_per_update;
  }
  if (of_run.stop.get().requested()) throw Stopped();
  if (iterations > 0) return static_cast<double>(iterations) / measured;
  const double seconds = since_set_up.Seconds();
  const std::int64_t done = run.Finish().iterations;
  if (done == 0) return std::nullopt;
  return static_cast<double>(done) / seconds;
}

// Returns the fewest iterations whose rows hold a whole sequence. Later rows of a sequence that
// does not fit into a buffer would never be generated.
std::int64_t FewestIterationsPerUpdate(const Config& config) {
  const std::int64_t rows = config.live_part_of(config.train.batch_size);
  if (rows == 0) return 1;
  return (config.generate.sequence().rows + rows - 1) / rows;
}

}  // namespace

Config WithAbsolutePaths(Config config) {
  if (IsPath(config.domain)) MakeAbsolute(config.domain.argument);
  for (const Field& field : FieldsOf(config)) {
    const auto* const path = std::get_if<PathField>(&field.value);
    if (path == nullptr) continue;
    MakeAbsolute(*path->value);
  }
  return config;
}

Config ResolveAutos(Config config, const Device& device, int cores) {
  const std::int64_t threads = std::min(cores, kMostThreads);
  config.device = device.torch().str();
  config.pipeline.policy_lag =
      config.pipeline.policy_lag.value_or(DefaultLag(config.pipeline.mode));
  config.generate.workers = config.generate.workers.value_or(threads);
  config.generate.chunk_rows = config.generate.rows_of_chunk();
  if (UsesRowsPerWalk(config.generate.target)) {
    config.generate.rows_per_walk = config.generate.rows_of_walk();
  }
  config.train.threads = config.train.threads.value_or(threads);
  config.inference.threads = config.inference.threads.value_or(*config.train.threads);
  config.inference.batch_size = config.inference.batch_size.value_or(
      device.torch().is_cpu() ? InferenceConfig::kCpuRows : InferenceConfig::kGpuRows);
  return WithBackends(std::move(config), device);
}

std::int64_t IterationsPerUpdate(const Config& config, double iterations) {
  const std::int64_t most = config.train.iterations_per_update;
  const std::int64_t least = std::min(most, FewestIterationsPerUpdate(config));
  const double fitting = std::min(iterations / static_cast<double>(kFewestUpdates), 1e9);
  return std::clamp(static_cast<std::int64_t>(fitting), least, most);
}

Config ResolveMaxUpdates(Config config, const RunOptions& run) {
  if (config.train.max_updates) return config;
  const double limit = config.train.max_seconds;
  LogInfo(fmt::format("measuring how many updates fit into {}", HumanSeconds(limit)));
  const double length_s = std::min(kProbeSeconds, kProbeShare * limit);
  const std::optional<double> rate = IterationsPerSecond(config, run, length_s);
  config.train.follows_clock = true;
  if (!rate) {
    LogWarning(fmt::format(
        "no iteration ended within {}, so the number of updates that fit is unknown; the run plans "
        "{} and revises that as it goes on",
        HumanSeconds(kPatience * length_s), kFewestUpdates));
    UpdatePlan(kFewestUpdates).WriteTo(config.train);
    return config;
  }
  const double elapsed = run.began.Seconds();
  const std::int64_t requested = config.train.iterations_per_update;
  const std::int64_t iterations = IterationsPerUpdate(config, (limit - elapsed) * *rate);
  if (iterations < requested) {
    LogInfo(fmt::format("train.iterations_per_update is {} instead of {}, so that {} updates fit",
                        iterations, requested, kFewestUpdates));
  }
  config.train.iterations_per_update = iterations;
  UpdatePlan(UpdatesThatFit(limit, elapsed, static_cast<double>(iterations) / *rate))
      .WriteTo(config.train);
  return config;
}

}  // namespace tandem
