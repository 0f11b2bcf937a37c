#include "train/metrics_log.h"

#include <nlohmann/json.hpp>

namespace tandem {

// Event files are never changed, so that TensorBoard can follow them. A new one tells it to forget
// what older ones have about later iterations.
MetricsLog::MetricsLog(const RunDirectory& directory, const Config& config, std::int64_t iterations)
    : directory_(directory), tensorboard_(directory.new_events(), config, iterations) {}

void MetricsLog::Add(std::int64_t update, const nlohmann::ordered_json& line,
                     std::int64_t iterations) {
  directory_.AppendMetrics(line);
  last_ = update;
  tensorboard_.Add(line, iterations);
}

void MetricsLog::AddToLast(std::int64_t updates, const nlohmann::ordered_json& entries,
                           std::int64_t iterations) {
  directory_.AddToLastMetrics(last_.value_or(updates - 1), entries);
  tensorboard_.Add(entries, iterations);
}

}  // namespace tandem
