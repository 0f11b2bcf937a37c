// Makes the lines of metrics.jsonl.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>

#include "config/train_config.h"
#include "pipeline/pipeline.h"
#include "run/checkpoint.h"
#include "run/run_profile.h"
#include "run/validation.h"

namespace tandem {

/// Returns the entries of a validation: `solve_rate`, and the error under its ErrorKey, both
/// overall and by length.
nlohmann::ordered_json ValidationJson(const ValidationReport& report, const TrainConfig& config);

/// Returns a flat object for an update. `counters` are those after the update. `validation` is the
/// validation since the previous line, if there was one. `times` are those since the previous line;
/// their entries are named "main_forward_s" and so on, and entries below a millisecond are left
/// out. Numbers are rounded.
nlohmann::ordered_json MetricsLine(const UpdateRecord& record, const TrainConfig& config,
                                   const RunCounters& counters,
                                   const std::optional<ValidationReport>& validation,
                                   const ThreadTimes& times);

}  // namespace tandem
