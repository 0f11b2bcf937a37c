#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/cores.h"
#include "base/file.h"
#include "base/json.h"
#include "base/text.h"
#include "config/fields.h"
#include "run/train_run.h"
#include "run/verdict.h"

namespace tandem {
namespace {

nlohmann::ordered_json ToJson(const std::optional<ValidationResult>& result,
                              const TrainConfig& config) {
  if (!result) return nullptr;
  return {{"solve_rate", RoundedReal(result->solve_rate)},
          {ErrorKey(config), RoundedReal(result->value_error)}};
}

const char* EndedBy(RunEnd end) {
  switch (end) {
    case RunEnd::kAllUpdates:
      return "max_updates";
    case RunEnd::kTimeLimit:
      return "max_seconds";
    case RunEnd::kStopped:
      return "stopped";
  }
  return "";
}

// Returns the figures that `tandem compare` compares.
nlohmann::ordered_json AfterColdStart(const RunSummary& summary, const TrainConfig& config) {
  const TimeReport& time = summary.time;
  const double generating = static_cast<double>(*config.generate.workers) * time.wall_s;
  const auto idle = [](double busy, double all) {
    return all > 0 ? RoundedReal(std::clamp(1 - busy / all, 0.0, 1.0)) : 0.0;
  };
  nlohmann::ordered_json json = {
      {"wall_s", RoundedSeconds(time.wall_s)},
      {"generate_critical_s", RoundedSeconds(time.generate_critical_s)},
      {"train_critical_s", RoundedSeconds(time.train_critical_s)},
      {"core_s", RoundedSeconds(time.core_s)},
      {"cores", NumCores()},
      {"idle_workers", idle(time.generating_thread_s, generating)},
      {"idle_main", idle(time.wall_s - time.wait_for_rows_s, time.wall_s)}};
  if (time.gpu) json["gpu_s"] = RoundedSeconds(time.gpu->busy_s / time.gpu->traced_s * time.wall_s);
  if (summary.products && time.wall_s > 0) {
    const auto [flop, machine_flop_per_s] = *summary.products;
    json["product_flop"] = RoundedReal(flop);
    json["machine_flop_per_s"] = RoundedReal(machine_flop_per_s);
    json["product_share"] = RoundedReal(flop / time.wall_s / machine_flop_per_s);
  }
  return json;
}

}  // namespace

void WriteSummary(const std::filesystem::path& path, const RunSummary& summary,
                  const TrainConfig& config, const std::string& device) {
  nlohmann::ordered_json json = {
      {"schema", 1},
      {"ended_by", EndedBy(summary.end)},
      {"mode", ValueText(config, "pipeline.mode")},
      {"device", device},
      {"parameters", summary.parameters},
      {"updates", summary.updates},
      {"iterations", summary.iterations},
      {"examples", summary.examples},
      {"wall_s", RoundedSeconds(summary.wall_s)},
      {"examples_per_s", RoundedReal(static_cast<double>(summary.examples) / summary.wall_s)},
      {"generate_s", RoundedSeconds(summary.generate_s)},
      {"train_s", RoundedSeconds(summary.train_s)},
      {"wait_for_rows_s", RoundedSeconds(summary.wait_for_rows_s)},
      {"validate_s", RoundedSeconds(summary.validate_s)},
      {"final_loss", summary.iterations > 0 ? nlohmann::ordered_json(summary.final_loss) : nullptr},
      {"at_start", ToJson(summary.at_start, config)},
      {"validation", ToJson(summary.validation, config)},
      {"best", ToJson(summary.best, config)},
      {"best_update", summary.best ? nlohmann::ordered_json(summary.best_update) : nullptr},
      {"peak_rss_bytes", summary.peak_rss_bytes},
      {"weights_sha256", summary.weights_sha256},
      {"after_cold_start", AfterColdStart(summary, config)},
      {"cold_start_s", RoundedSeconds(summary.time.cold_start_s)},
      {"generate_critical_s", RoundedSeconds(summary.time.generate_critical_s)},
      {"train_critical_s", RoundedSeconds(summary.time.train_critical_s)},
      {"time", ToJson(summary.time.threads)}};
  if (summary.time.gpu) json["time"]["gpu"] = ToJson(*summary.time.gpu);
  if (summary.data) json["data"] = ToJson(*summary.data);
  WriteFileAtomically(path, DumpJson(json, 2) + "\n");
}

}  // namespace tandem
