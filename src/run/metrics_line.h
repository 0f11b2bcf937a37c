// The lines of metrics.jsonl.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>

#include "config/train_config.h"
#include "pipeline/pipeline.h"
#include "run/checkpoint.h"
#include "run/run_profile.h"
#include "run/validation.h"

namespace tandem {

/// The entries of a validation: `solve_rate`, and its error under the name that says against what.
nlohmann::ordered_json ValidationJson(const ValidationReport& report, const TrainConfig& config);

/// One flat object about an update: `counters` are those after it, `validation` the one since the
/// line before, if there was any, `times` those since then, as "main_forward_s" and so on where
/// they reach a millisecond. Numbers are rounded.
nlohmann::ordered_json MetricsLine(const UpdateRecord& record, const TrainConfig& config,
                                   const RunCounters& counters,
                                   const std::optional<ValidationReport>& validation,
                                   const ThreadTimes& times);

}  // namespace tandem
