#include "train/calibrate.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/machine.h"
#include "base/text.h"
#include "config/training_phases.h"
#include "config/update_plan.h"
#include "train/memory_plan.h"
#include "train/resolve.h"
#include "train/train_run.h"

namespace tandem {
namespace {

// Each of the two measurements takes at most this share of a run.
constexpr double kProbeShare = 0.05;
constexpr double kProbeSeconds = 4;

// A probe that has not finished its first updates ends this multiple of its length after it was set
// up.
constexpr double kPatience = 4;

// Iterations of a probe's update. They are few, so that several updates fit. The times of
// generating and training are both proportional to the rows.
constexpr std::int64_t kProbeIterations = 10;

// With fewer updates, the last one would end far from the time limit, and the target network would
// be refreshed too rarely. A run whose speed could not be measured begins with this number: it is
// revised after the first few updates, which must not be most of the learning-rate schedule.
constexpr std::int64_t kFewestUpdates = 40;

// In shorter runs, measuring which number of threads is fastest costs more than it gains.
constexpr std::int64_t kMinIterationsToMeasure = 5000;
constexpr double kMinSecondsToMeasure = 30;

// Each round measures all numbers of threads, because the speed of a shared machine varies.
constexpr int kRounds = 2;

// More threads are chosen only if they are faster than fewer threads by this factor.
constexpr double kMinSpeedUp = 1.05;

// How long a probe measures.
struct ProbeLength {
  double seconds = 0;
  std::int64_t iterations = std::numeric_limits<std::int64_t>::max();
};

// Returns the config of a probe, whose network is discarded. It does not validate and has no later
// phases, its batches keep the size of update 0, and its scrambles have the lengths of the end of a
// curriculum. It uses up no rows of a stream: it generates all rows itself. It synchronizes with
// the device as often as the run will, but logs no timing and does not measure products.
// IterationsPerSecond limits its time.
Config ProbeFor(Config config) {
  config.validation.every_updates = 0;
  config.profile.timing_every = 0;
  config.profile.product_rate = false;
  config.train.watchdog_seconds = 0;
  if (config.streams()) config.data = DataConfig();
  config.train.max_updates = 1'000'000;
  config.train.batch_doubles_every = 0;
  config.train.plan.clear();
  config.phases.clear();
  config.generate.curriculum = false;
  config.train.max_seconds = 0;
  config.train.iterations_per_update =
      std::min(config.train.iterations_per_update, kProbeIterations);
  return config;
}

// Returns how many iterations per second a run does, including its waits for buffers. Returns
// nothing if no iteration ended in time.
std::optional<double> IterationsPerSecond(const Config& config,
                                          const std::shared_ptr<Device>& device,
                                          const ProbeLength& length, const StopSignal& stop) {
  StopSignal ends(&stop);
  TrainRun run(ProbeFor(config), {.device = device, .stop = ends});
  const Stopwatch since_set_up;
  ends.SetDeadlineIn(kPatience * length.seconds);  // setting up may take longer than that
  run.RunUpdate();  // the cold start, and code that is slow on its first call
  const Stopwatch watch;
  double measured = 0;
  std::int64_t iterations = 0;
  while (watch.Seconds() < length.seconds && iterations < length.iterations && run.RunUpdate()) {
    measured = watch.Seconds();
    iterations += run.config().train.iterations_per_update;
  }
  if (stop.requested()) throw Stopped();
  if (iterations > 0) return static_cast<double>(iterations) / measured;
  const double seconds = since_set_up.Seconds();
  const std::int64_t done = run.Finish().iterations;
  if (done == 0) return std::nullopt;
  return static_cast<double>(done) / seconds;
}

void CheckMemory(Config config) {
  if (!config.train.max_updates) config.train.max_updates = 1;  // all updates need the same memory
  CheckLimitsOfPhases(config);
}

bool ShouldMeasureThreads(const Config& config) {
  if (config.device != "cpu" || NumCores() == 1) return false;
  const TrainingConfig& train = config.train;
  if (train.max_seconds > 0 && train.max_seconds < kMinSecondsToMeasure) return false;
  return !train.max_updates ||
         *train.max_updates >= kMinIterationsToMeasure / train.iterations_per_update;
}

ProbeLength ThreadProbeLength(const Config& config, std::size_t probes) {
  const double share = kProbeShare / static_cast<double>(probes);
  ProbeLength length{.seconds = 1};
  if (config.train.max_seconds > 0) {
    length.seconds = std::min(length.seconds, share * config.train.max_seconds);
  }
  if (config.train.max_updates) {
    length.iterations =
        static_cast<std::int64_t>(share * static_cast<double>(*config.train.max_updates) *
                                  static_cast<double>(config.train.iterations_per_update));
  }
  return length;
}

// Returns the fewest iterations whose rows hold a whole search or walk. Later states of a search or
// walk that does not fit into a buffer would never be generated.
std::int64_t FewestIterationsPerUpdate(const Config& config) {
  const std::int64_t rows = config.live_part_of(config.train.batch_size);
  if (rows == 0) return 1;
  std::int64_t needed = 1;
  for (std::int64_t phase = 0; phase <= std::ssize(config.phases); ++phase) {
    const GenerateConfig generate = ConfigOfPhase(config, phase).generate;
    if (generate.searches()) needed = std::max(needed, generate.rows_per_search());
    if (LabelsWalks(generate.target)) needed = std::max(needed, generate.rows_of_walk());
  }
  return (needed + rows - 1) / rows;
}

}  // namespace

std::optional<std::int64_t> FastestThreads(const std::vector<ThreadRate>& rates) {
  double best = 0;
  for (const ThreadRate& rate : rates) best = std::max(best, rate.iterations_per_s.value_or(0));
  std::optional<std::int64_t> fewest;
  for (const auto& [threads, rate] : rates) {
    if (rate && *rate * kMinSpeedUp >= best) fewest = std::min(fewest.value_or(threads), threads);
  }
  return fewest;
}

std::int64_t IterationsPerUpdate(const Config& config, double iterations) {
  const std::int64_t most = config.train.iterations_per_update;
  const std::int64_t least = std::min(most, FewestIterationsPerUpdate(config));
  const double fitting = std::min(iterations / static_cast<double>(kFewestUpdates), 1e9);
  return std::clamp(static_cast<std::int64_t>(fitting), least, most);
}

Config MeasureThreads(Config config, const Config& requested, const std::shared_ptr<Device>& device,
                      const StopSignal& stop) {
  if (requested.train.threads || !ShouldMeasureThreads(config)) return config;
  CheckMemory(config);
  std::vector<ThreadRate> rates;
  for (std::int64_t threads = *config.train.threads; threads > 0; threads /= 2) {
    rates.push_back({.threads = threads});
  }
  const auto with = [&](std::int64_t threads) {
    Config changed = config;
    changed.train.threads = threads;
    changed.inference.threads = requested.inference.threads.value_or(threads);
    return changed;
  };
  const ProbeLength length = ThreadProbeLength(config, kRounds * rates.size());
  // A round in which no iteration ended in time counts as a rate of 0 if the other one has a rate.
  for (int round = 0; round < kRounds; ++round) {
    for (auto& [threads, rate] : rates) {
      const auto measured = IterationsPerSecond(with(threads), device, length, stop);
      if (measured) rate = rate.value_or(0) + *measured / kRounds;
    }
  }
  const std::optional<std::int64_t> fastest = FastestThreads(rates);
  if (!fastest) {
    LogWarning(fmt::format(
        "train.threads is {}, the default: no measurement finished an iteration within {}. Set "
        "train.threads to the number with which this machine is fastest.",
        *config.train.threads, HumanSeconds(kPatience * length.seconds)));
    return config;
  }
  std::vector<std::string> measured;
  measured.reserve(rates.size());
  for (const auto& [threads, rate] : rates) {
    measured.push_back(rate ? fmt::format("{:.3g} with {}", *rate, threads)
                            : fmt::format("none with {}", threads));
  }
  LogInfo(fmt::format("train.threads is {}; measured iterations/s: {}", *fastest,
                      fmt::join(measured, ", ")));
  return with(*fastest);
}

Config ResolveMaxUpdates(Config config, const std::shared_ptr<Device>& device,
                         const Stopwatch& began, const StopSignal& stop) {
  if (config.train.max_updates) return config;
  CheckMemory(config);
  const double limit = config.train.max_seconds;
  LogInfo(fmt::format("measuring how many updates fit into {}", HumanSeconds(limit)));
  const ProbeLength length{.seconds = std::min(kProbeSeconds, kProbeShare * limit)};
  const std::optional<double> rate = IterationsPerSecond(config, device, length, stop);
  config.train.follows_clock = true;
  if (!rate) {
    LogWarning(fmt::format(
        "no iteration ended within {}, so the number of updates that fit is unknown; the run plans "
        "{} and revises that as it goes on",
        HumanSeconds(kPatience * length.seconds), kFewestUpdates));
    config.train.max_updates = kFewestUpdates;
    return config;
  }
  const double elapsed = began.Seconds();
  const std::int64_t requested = config.train.iterations_per_update;
  const std::int64_t iterations = IterationsPerUpdate(config, (limit - elapsed) * *rate);
  if (iterations < requested) {
    LogInfo(fmt::format("train.iterations_per_update is {} instead of {}, so that {} updates fit",
                        iterations, requested, kFewestUpdates));
  }
  config.train.iterations_per_update = iterations;
  config.train.max_updates =
      UpdatesThatFit(limit, elapsed, static_cast<double>(iterations) / *rate);
  return config;
}

Config ReplaceAutos(const Config& requested, const std::shared_ptr<Device>& device,
                    const Stopwatch& began, const StopSignal& stop) {
  const Config config = MeasureThreads(ResolveAutos(requested, *device), requested, device, stop);
  return ResolveMaxUpdates(config, device, began, stop);
}

}  // namespace tandem
