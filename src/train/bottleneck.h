// Describes where the time of a run went, and what would make it faster.
#pragma once

#include <cstdint>
#include <string>

#include "config/config.h"
#include "train/run_profile.h"

namespace tandem {

/// Returns a line in the form of DescribeTimes that compares CPU time with wall time.
std::string DescribeCores(const TimeReport& report, std::int64_t cores);

/// Returns one sentence: which side is the bottleneck, how long the run would take with ideal
/// overlap, and which setting to change on a machine with `cores` cores. `config` must have no
/// `auto` left.
std::string DescribeBottleneck(const TimeReport& report, const Config& config, std::int64_t cores);

}  // namespace tandem
