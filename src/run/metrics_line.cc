#include "run/metrics_line.h"

#include <chrono>
#include <nlohmann/json.hpp>
#include <string>

namespace tandem {

nlohmann::ordered_json MetricsLine(const UpdateRecord& record, const TrainConfig& config,
                                   const RunCounters& counters,
                                   const std::optional<ValidationReport>& validation,
                                   const ThreadTimes& times) {
  const TrainStats& train = record.train;
  const auto seconds_at = [&](Stopwatch::Clock::time_point time) {
    return counters.wall_s - std::chrono::duration<double>(Stopwatch().start() - time).count();
  };
  nlohmann::ordered_json line = {
      {"update", record.update},
      {"elapsed_s", counters.wall_s},
      {"iterations", train.iterations},
      {"examples", train.examples},
      {"examples_per_s", static_cast<double>(train.examples) / record.seconds},
      {"loss", train.loss},
      {"learning_rate", train.learning_rate},
      {"update_s", record.seconds},
      {"generate_began_s", seconds_at(record.fill.began)},
      {"generate_s", record.fill.seconds},
      {"generator_wait_s", record.fill.wait_s},
      {"train_began_s", seconds_at(train.began)},
      {"train_s", train.seconds},
      {"wait_for_rows_s", record.wait_for_rows_s},
      {"wait_for_batch_s", train.wait_for_batch_s},
      {"label_s", record.label_s},
      {"answer_s", record.answer_s},
      {"lag_updates", record.lag_updates},
      {"target_age_iterations", record.target_age_updates * config.train.iterations_per_update}};
  if (validation) {
    line["solve_rate"] = validation->solve_rate;
    line["value_error"] = validation->value_error;
    for (const auto& [length, error] : validation->by_length) {
      line["value_error_by_length"][std::to_string(length)] = error;
    }
  }
  line["time"] = ToJson(times);
  return line;
}

}  // namespace tandem
