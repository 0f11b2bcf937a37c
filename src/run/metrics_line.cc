#include "run/metrics_line.h"

#include <chrono>
#include <nlohmann/json.hpp>
#include <string>

#include "base/text.h"
#include "run/verdict.h"

namespace tandem {

nlohmann::ordered_json ValidationJson(const ValidationReport& report, const TrainConfig& config) {
  const std::string error = ErrorKey(config);
  nlohmann::ordered_json json = {{"solve_rate", RoundedReal(report.solve_rate)},
                                 {error, RoundedReal(report.value_error)}};
  for (const auto& [length, value] : report.by_length) {
    json[error + "_by_length"][std::to_string(length)] = RoundedReal(value);
  }
  return json;
}

nlohmann::ordered_json MetricsLine(const UpdateRecord& record, const TrainConfig& config,
                                   const RunCounters& counters,
                                   const std::optional<ValidationReport>& validation,
                                   const ThreadTimes& times) {
  const TrainStats& train = record.train;
  const auto seconds_at = [&](Stopwatch::Clock::time_point time) {
    return RoundedSeconds(counters.wall_s -
                          std::chrono::duration<double>(Stopwatch().start() - time).count());
  };
  nlohmann::ordered_json line = {
      {"update", record.update},
      {"elapsed_s", RoundedSeconds(counters.wall_s)},
      {"iterations", train.iterations},
      {"examples", train.examples},
      {"examples_per_s", RoundedReal(static_cast<double>(train.examples) / record.seconds)},
      {"loss", RoundedReal(train.loss)},
      {"learning_rate", RoundedReal(train.learning_rate)},
      {"update_s", RoundedSeconds(record.seconds)},
      {"generate_began_s", seconds_at(record.fill.began)},
      {"generate_s", RoundedSeconds(record.fill.seconds)},
      {"generator_wait_s", RoundedSeconds(record.fill.wait_s)},
      {"train_began_s", seconds_at(train.began)},
      {"train_s", RoundedSeconds(train.seconds)},
      {"wait_for_rows_s", RoundedSeconds(record.wait_for_rows_s)},
      {"wait_for_batch_s", RoundedSeconds(train.wait_for_batch_s)},
      {"label_s", RoundedSeconds(record.label_s)},
      {"answer_s", RoundedSeconds(record.answer_s)},
      {"lag_updates", record.lag_updates},
      {"target_age_iterations", record.target_age_updates * config.train.iterations_per_update}};
  if (validation) line.update(ValidationJson(*validation, config));
  line.update(FlatJson(times));
  return line;
}

}  // namespace tandem
