// Tells what each part of an iteration takes.
#pragma once

#include <cstdint>
#include <string>

#include "base/timeline.h"
#include "config/train_config.h"
#include "nn/device.h"

namespace tandem {

/// The config that the parts of a run are made by: with profile.timing_breakdown nothing is
/// generated, prefetched or copied beside training. The policy lag, and so the weights, stay.
TrainConfig WithoutOverlapIfTimed(TrainConfig config);

/// With profile.timing_breakdown: from now on the device is waited for after each phase of the
/// main thread, and a line of milliseconds is logged after each of the first ten iterations and
/// then every profile.timing_every. With 0 there, which no file may hold, nothing is logged: for
/// runs that are to take as long and of which nobody wants to know. Used by the main thread.
class TimingBreakdown {
 public:
  /// `main` and `device` must outlive this and the phases of `main`.
  TimingBreakdown(Track& main, Device& device, const TrainConfig& config);

  /// Call after each iteration of the run.
  void AfterIteration(std::int64_t iteration);

  /// Logs the mean of the iterations that no line was logged of.
  void Finish();

 private:
  void LogSinceLast();

  const Track& main_;
  const std::int64_t every_;
  const std::int64_t micro_steps_;  // of an iteration
  std::int64_t seen_ = 0;           // iterations
  std::int64_t logged_ = 0;         // of these
  std::int64_t last_ = 0;           // iteration
  PhaseTimes before_;               // when the last line was logged
};

/// "forward 2 x 1.503, backward 2 x 3.120, optimizer 0.402, sum 9.648, of which 0.210
/// synchronising": milliseconds of one of `iterations`, each of `micro_steps`, that took `times`
/// together.
std::string DescribeIteration(const PhaseTimes& times, std::int64_t iterations,
                              std::int64_t micro_steps);

}  // namespace tandem
