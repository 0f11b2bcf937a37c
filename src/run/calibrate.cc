#include "run/calibrate.h"

#include <algorithm>

#include "run/train_run.h"

namespace tandem {
namespace {

// Of the time limit, at most, and in seconds, at most.
constexpr double kProbeShare = 0.05;
constexpr double kProbeSeconds = 4;

// Machines slow down and others use them too: plan with this share of the time that is left.
constexpr double kPlannedShare = 0.97;

// Notes how many iterations ran in how many seconds, the first update (which warms up) left out.
class RateProbe final : public TrainObserver {
 public:
  RateProbe(TrainRun& run, double seconds) : run_(run), seconds_(seconds) {}

  void OnIteration(const Progress& progress) override {
    last_ = progress;
    if (warm_ && progress.seconds - first_.seconds > seconds_) run_.RequestStop();
  }

  void OnUpdate(const UpdateRecord&) override {
    if (!warm_) first_ = last_;
    warm_ = true;
  }

  double SecondsPerIteration() const {
    const Progress none;
    const Progress& from = last_.iterations_done > first_.iterations_done ? first_ : none;
    return (last_.seconds - from.seconds) / static_cast<double>(std::max<std::int64_t>(
                                                last_.iterations_done - from.iterations_done, 1));
  }

 private:
  TrainRun& run_;
  const double seconds_;
  bool warm_ = false;
  Progress first_, last_;
};

}  // namespace

TrainConfig ResolveMaxUpdates(TrainConfig config, const std::shared_ptr<Device>& device,
                              const Stopwatch& began, const StopSignal& stop) {
  if (config.train.max_updates) return config;
  TrainConfig probe_config = config;
  probe_config.train.max_updates = 1'000'000;
  TrainRun run(probe_config, device, std::nullopt, stop, began);
  RateProbe probe(run, std::min(kProbeSeconds, kProbeShare * config.train.max_seconds));
  run.AddObserver(probe);
  while (run.RunUpdate()) {
  }
  if (stop.requested()) throw Stopped();
  const double seconds_left = config.train.max_seconds - began.Seconds();
  const double update_s =
      probe.SecondsPerIteration() * static_cast<double>(config.train.iterations_per_update);
  config.train.max_updates =
      std::max<std::int64_t>(1, static_cast<std::int64_t>(kPlannedShare * seconds_left / update_s));
  return config;
}

}  // namespace tandem
