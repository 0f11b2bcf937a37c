// The mean time of each activity of an iteration.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/timeline.h"
#include "config/config.h"
#include "train/report.h"

namespace tandem {

class Device;

/// For profile.timing_breakdown: makes the main thread, whose track is `main`, wait for the device
/// after each activity. Logs the milliseconds of each activity in the first ten iterations, and
/// then means of 200. Without `logs`, the run has the same speed, but logs nothing.
std::unique_ptr<RunSection> MakeTimingBreakdown(Track& main, Device& device, const Config& config,
                                                bool logs);

/// Returns the config from which the components of a run are built. With profile.timing_breakdown,
/// nothing overlaps with training; the policy lag and the weights stay the same.
Config WithoutOverlapIfTimed(Config config);

/// Returns how many milliseconds each activity takes in an iteration: "forward 2 x 1.503, backward
/// 2 x 3.120, optimizer 0.402, sum 9.648, of which 0.210 synchronising". `times` covers
/// `iterations` iterations of `micro_steps` micro-steps each.
std::string DescribeIteration(const ActivityTimes& times, std::int64_t iterations,
                              std::int64_t micro_steps);

}  // namespace tandem
