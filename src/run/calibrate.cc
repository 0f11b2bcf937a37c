#include "run/calibrate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/log.h"
#include "base/text.h"
#include "run/memory_plan.h"
#include "run/train_run.h"

namespace tandem {
namespace {

// Measure for so long, in seconds or as a share of the time limit, whichever is less...
constexpr double kProbeSeconds = 4;
constexpr double kProbeShare = 0.05;

// ... and give up measuring whole updates after this share of the time limit.
constexpr double kProbeMostShare = 0.2;

// The probe's updates are this short, so that several fit; filling and training both take time in
// proportion to the rows.
constexpr std::int64_t kProbeIterations = 20;

// Machines slow down and others use them too: plan with this share of the time that is left.
constexpr double kPlannedShare = 0.97;

// The probe's network is thrown away: what it does is not validated and, while the device is waited
// for as often as the run will, nothing is said of its iterations.
TrainConfig ProbeFor(TrainConfig config) {
  config.validation.every_updates = 0;
  config.diagnose.timing_every = 0;
  config.train.max_updates = 1'000'000;
  config.train.max_seconds *= kProbeMostShare;
  config.train.iterations_per_update =
      std::min(config.train.iterations_per_update, kProbeIterations);
  return config;
}

// How long an iteration takes, with its share of filling buffers; 0 if not even one was done.
double MeasureSecondsPerIteration(TrainRun& run, double seconds) {
  run.RunUpdate();  // the cold start, and what is slow the first time
  const Stopwatch watch;
  double measured = 0;
  std::int64_t iterations = 0;
  while (watch.Seconds() < seconds && run.RunUpdate()) {
    measured = watch.Seconds();
    iterations += run.config().train.iterations_per_update;
  }
  if (iterations > 0) return measured / static_cast<double>(iterations);
  const RunSummary summary = run.Finish();
  return summary.iterations > 0 ? summary.wall_s / static_cast<double>(summary.iterations) : 0;
}

}  // namespace

std::int64_t UpdatesThatFit(double seconds, double iteration_s,
                            std::int64_t iterations_per_update) {
  const double update_s = iteration_s * static_cast<double>(iterations_per_update);
  const double fitting = kPlannedShare * seconds / update_s;
  if (!(fitting > 1) || !std::isfinite(fitting)) return 1;
  return static_cast<std::int64_t>(std::min(fitting, 1e9));
}

TrainConfig ResolveMaxUpdates(TrainConfig config, const std::shared_ptr<Device>& device,
                              const Stopwatch& began, const StopSignal& stop) {
  if (config.train.max_updates) return config;
  const double limit = config.train.max_seconds;
  config.train.max_updates = 1;  // with auto, each update takes the memory that the first does
  CheckLimits(PlanMemory(config), config);
  TrainRun run(ProbeFor(config), device, std::nullopt, stop);
  LogInfo(fmt::format("measuring how many updates fit into {}", HumanSeconds(limit)));
  const double iteration_s =
      MeasureSecondsPerIteration(run, std::min(kProbeSeconds, kProbeShare * limit));
  if (stop.requested()) throw Stopped();

  config.train.max_updates =
      UpdatesThatFit(limit - began.Seconds(), iteration_s, config.train.iterations_per_update);
  return config;
}

}  // namespace tandem
