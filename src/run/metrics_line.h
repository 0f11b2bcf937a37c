// The lines of metrics.jsonl.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>

#include "config/train_config.h"
#include "pipeline/pipeline.h"
#include "run/checkpoint.h"
#include "run/time_books.h"
#include "run/validation.h"

namespace tandem {

/// What is told of an update: `counters` are those after it, `validation` the one since the line
/// before, if there was any, `times` those since then.
nlohmann::ordered_json MetricsLine(const UpdateRecord& record, const TrainConfig& config,
                                   const RunCounters& counters,
                                   const std::optional<ValidationReport>& validation,
                                   const ThreadTimes& times);

}  // namespace tandem
