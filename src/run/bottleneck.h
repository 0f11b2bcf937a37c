// What a run's times say, for people.
#pragma once

#include <string>
#include <vector>

#include "config/train_config.h"
#include "run/run_profile.h"

namespace tandem {

/// A line for each thread: its phases by their share of its wall time, the largest first.
std::vector<std::string> DescribeTimes(const ThreadTimes& times);

/// CPU time against wall time, as a line like those of DescribeTimes.
std::string DescribeCores(const TimeReport& report, std::int64_t cores);

/// One sentence: which side is the bottleneck, what the ideal overlap would give, and the setting
/// to change on a machine of `cores`. No `auto` is left in `config`.
std::string DescribeBottleneck(const TimeReport& report, const TrainConfig& config,
                               std::int64_t cores);

}  // namespace tandem
