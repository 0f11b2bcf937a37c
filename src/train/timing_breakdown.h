// Measures each activity of an iteration alone, for profile.timing_breakdown.
#pragma once

#include <cstdint>
#include <string>

#include "base/timeline.h"
#include "config/config.h"
#include "train/report.h"

namespace tandem {

class Device;

/// Returns the config from which the components of a run are built. With profile.timing_breakdown,
/// nothing is generated, prefetched or copied during training. The policy lag stays the same, and
/// so do the weights.
Config WithoutOverlapIfTimed(Config config);

/// TimingBreakdown makes the main thread wait for the device after each activity, for
/// profile.timing_breakdown. It logs the milliseconds of each activity after each of the first ten
/// iterations, and then a mean every 200 iterations. Only the main thread uses this class.
class TimingBreakdown final : public RunSection {
 public:
  /// `main` and `device` must outlive this object and the activities of `main`. Without `logs`, the
  /// run has the same speed, but logs nothing.
  TimingBreakdown(Track& main, Device& device, const Config& config, bool logs);

  void OnIteration(std::int64_t iteration) override;

  /// Logs the mean of the iterations since the last line.
  void OnTrainingEnd() override;

 private:
  void LogSinceLast();

  const Track& main_;
  const bool logs_;
  const std::int64_t micro_steps_;  // per iteration
  std::int64_t seen_ = 0;           // iterations so far
  std::int64_t logged_ = 0;         // iterations that lines have covered
  std::int64_t last_ = 0;           // number of the last iteration
  ActivityTimes before_;            // times when the last line was logged
};

/// "forward 2 x 1.503, backward 2 x 3.120, optimizer 0.402, sum 9.648, of which 0.210
/// synchronising": the mean milliseconds of an iteration. `times` covers `iterations` iterations of
/// `micro_steps` micro-steps each.
std::string DescribeIteration(const ActivityTimes& times, std::int64_t iterations,
                              std::int64_t micro_steps);

}  // namespace tandem
