#include "train/timing_breakdown.h"

#include <fmt/format.h>

#include <array>

#include "base/log.h"
#include "nn/device.h"

namespace tandem {
namespace {

constexpr std::int64_t kFirstIterations = 10;  // logged one by one
constexpr std::int64_t kEvery = 200;           // iterations between two later lines

constexpr std::array kActivities = {
    Activity::kWaitForBatch,  Activity::kShuffle,   Activity::kGather,
    Activity::kHostToDevice,  Activity::kForward,   Activity::kBackward,
    Activity::kClipGradients, Activity::kOptimizer, Activity::kWaitForDevice};

bool IsOfMicroStep(Activity activity) {
  return activity == Activity::kForward || activity == Activity::kBackward;
}

class TimingBreakdown final : public RunSection {
 public:
  TimingBreakdown(Track& main, Device& device, const Config& config, bool logs)
      : main_(main),
        logs_(logs),
        micro_steps_(config.train.accumulation_steps),
        before_(main.Times()) {
    main.SynchronizeAfterActivities([&device] { device.Synchronize(); });
    if (!logs_) return;
    LogInfo(
        "timing: the run waits for the device after each activity, and nothing is prefetched, "
        "copied or generated during training, so the times are exact and the run is slower");
  }

  void OnIteration(std::int64_t iteration) override {
    if (!logs_) return;
    ++seen_;
    last_ = iteration;
    if (seen_ <= kFirstIterations || seen_ % kEvery == 0) LogSinceLast();
  }

  // Logs the mean of the iterations since the last line.
  void OnTrainingEnd() override {
    if (logs_ && seen_ > logged_) LogSinceLast();
  }

 private:
  void LogSinceLast() {
    const ActivityTimes now = main_.Times();
    ActivityTimes since = now;
    since -= before_;
    const std::int64_t count = seen_ - logged_;
    const std::string which = count == 1
                                  ? fmt::format("iteration {}", last_)
                                  : fmt::format("mean of {} iterations up to {}", count, last_);
    LogInfo(
        fmt::format("timing: {}, ms: {}", which, DescribeIteration(since, count, micro_steps_)));
    logged_ = seen_;
    before_ = now;
  }

  const Track& main_;
  const bool logs_;
  const std::int64_t micro_steps_;  // per iteration
  std::int64_t seen_ = 0;           // iterations so far
  std::int64_t logged_ = 0;         // iterations that lines have covered
  std::int64_t last_ = 0;           // number of the last iteration
  ActivityTimes before_;            // times when the last line was logged
};

}  // namespace

std::string DescribeIteration(const ActivityTimes& times, std::int64_t iterations,
                              std::int64_t micro_steps) {
  const double per_iteration = 1e3 / static_cast<double>(iterations);
  std::string text;
  double sum = 0;
  for (const Activity activity : kActivities) {
    const double ms = times[activity] * per_iteration;
    sum += ms;
    if (ms < 5e-4) continue;
    if (IsOfMicroStep(activity) && micro_steps > 1) {
      text += fmt::format("{} {} x {:.3f}, ", ActivityName(activity), micro_steps,
                          ms / static_cast<double>(micro_steps));
    } else {
      text += fmt::format("{} {:.3f}, ", ActivityName(activity), ms);
    }
  }
  return fmt::format("{}sum {:.3f}, of which {:.3f} synchronising", text, sum,
                     times.synchronize_s * per_iteration);
}

Config WithoutOverlapIfTimed(Config config) {
  if (!config.profile.timing_breakdown) return config;
  // With the same policy lag, sequential does the work of async in turn.
  if (config.pipeline.mode == Mode::kAsync) config.pipeline.mode = Mode::kSequential;
  config.prefetch.enabled = false;
  config.prefetch.copy_stream = false;
  return config;
}

std::unique_ptr<RunSection> MakeTimingBreakdown(Track& main, Device& device, const Config& config,
                                                bool logs) {
  return std::make_unique<TimingBreakdown>(main, device, config, logs);
}

}  // namespace tandem
