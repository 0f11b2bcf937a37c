// Describes where the time of a run went, and what would make it faster.
#pragma once

#include <cstdint>
#include <string>

#include "config/config.h"
#include "train/run_profile.h"

namespace tandem {

struct RankReport;

/// Returns a line in the form of DescribeTimes that compares CPU time with wall time.
std::string DescribeCores(const TimeReport& report, std::int64_t cores);

/// Returns one sentence: which side is the bottleneck, or what training waited for; how long the
/// run would take with ideal overlap; and which setting to change on a machine with `cores` cores.
/// `config` must have no `auto` left. `ranks` is null if this process trained alone.
std::string DescribeBottleneck(const TimeReport& report, const Config& config, std::int64_t cores,
                               const RankReport* ranks = nullptr);

}  // namespace tandem
