#include "train/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>

#include "base/json.h"
#include "base/machine.h"
#include "base/text.h"
#include "config/fields.h"
#include "config/update_plan.h"
#include "data/run_files.h"

namespace tandem {
namespace {

using Json = nlohmann::ordered_json;

Json ToJson(const std::optional<ValidationResult>& result, const Config& config) {
  if (!result) return nullptr;
  Json json = {{"solve_rate", RoundedReal(result->solve_rate)}};
  if (result->value_error) json[ErrorKey(config)] = RoundedReal(*result->value_error);
  return json;
}

// Adds how long the scrambles of a fill were, with generate.curriculum, and what its searches
// solved.
void AddSearches(const FillStats& fill, Json& json) {
  if (fill.longest_scramble) json["longest_scramble"] = *fill.longest_scramble;
  if (fill.searches_solved) json["searches_solved"] = RoundedReal(*fill.searches_solved);
}

// By RunEnd.
constexpr std::array kEndedBy = {"max_updates", "max_seconds", "stopped"};

// Returns the measurements that `tandem compare` compares.
Json AfterColdStart(const RunSummary& summary, const Config& config) {
  const TimeReport& time = summary.time;
  const double generating = static_cast<double>(*config.generate.workers) * time.wall_s;
  const auto idle = [](double busy, double all) {
    return all > 0 ? RoundedReal(std::clamp(1 - busy / all, 0.0, 1.0)) : 0.0;
  };
  Json json = {{"wall_s", RoundedSeconds(time.wall_s)},
               {"generate_critical_s", RoundedSeconds(time.generate_critical_s)},
               {"train_critical_s", RoundedSeconds(time.train_critical_s)},
               {"core_s", RoundedSeconds(time.core_s)},
               {"cores", summary.cores},
               {"idle_workers", idle(time.generating_thread_s, generating)},
               {"idle_main", idle(time.wall_s - time.waits_s(), time.wall_s)}};
  if (time.gpu) json["gpu_s"] = RoundedSeconds(time.gpu->busy_s / time.gpu->traced_s * time.wall_s);
  return json;
}

// Two solve rates count as different if a two-sided test of two proportions finds the difference at
// 1 %: if they differ by more than this many standard errors. A run looks at several differences,
// and few states make the test too bold, so 5 % would find learning where there is none.
constexpr double kStandardErrors = 2.576;

// The error against known lengths counts as lower if it falls below this share of its old value.
constexpr double kLowerError = 0.9;

// Returns whether solve rate `a` exceeds `b` by more than chance explains. If it does not, the true
// rate of both is their mean.
bool IsClearlyAbove(double a, double b, std::int64_t states) {
  const double rate = (a + b) / 2;
  const double error = std::sqrt(2 * rate * (1 - rate) / static_cast<double>(states));
  return a - b > kStandardErrors * error;
}

std::string Percent(const ValidationResult& result) {
  return fmt::format("{:.1f} %", 100 * result.solve_rate);
}

// With backed-up labels, states farther away than the labels reach have no meaningful label yet.
std::string DescribeReach(const Config& config, std::optional<double> longest_label) {
  if (!longest_label || !HasGrowingTargets(config)) return "";
  return fmt::format("; labels reach {:.3g}, scrambles {}", *longest_label,
                     config.generate.max_scramble);
}

}  // namespace

Json ValidationJson(const ValidationReport& report, const Config& config) {
  const std::string error = ErrorKey(config);
  Json json = ToJson(report, config);
  for (const auto& [length, value] : report.value_error_by_length) {
    json[error + "_by_length"][std::to_string(length)] = RoundedReal(value);
  }
  for (const auto& [length, value] : report.solve_rate_by_length) {
    json["solve_rate_by_length"][std::to_string(length)] = RoundedReal(value);
  }
  return json;
}

Json MetricsLine(const UpdateRecord& record, const Config& config, const RunCounters& counters,
                 const std::optional<ValidationReport>& validation, const ThreadTimes& times) {
  const TrainStats& train = record.train;
  const auto seconds_at = [&](Stopwatch::Clock::time_point time) {
    return RoundedSeconds(counters.wall_s -
                          std::chrono::duration<double>(Stopwatch::Clock::now() - time).count());
  };
  Json line = {
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
      {"serve_s", RoundedSeconds(record.serve_s)},
      {"lag_updates", record.lag_updates},
      {"target_age_iterations", record.target_age_updates * config.train.iterations_per_update},
      {"train_examples_per_s",
       RoundedReal(static_cast<double>(train.examples) / (train.seconds - train.wait_s))}};
  if (record.fill.seconds > 0) {
    line["generate_examples_per_s"] =
        RoundedReal(static_cast<double>(config.live_rows()) / record.fill.seconds);
  }
  if (const std::optional<LabelStats>& labels = record.labels) {
    line["label_mean"] = RoundedReal(labels->mean);
    line["label_min"] = RoundedReal(labels->min);
    line["label_max"] = RoundedReal(labels->max);
  }
  const BusyShares busy = BusySharesOf(times);
  line["idle_generator"] = RoundedReal(1 - busy.generating);
  line["idle_main"] = RoundedReal(1 - busy.training);
  line["peak_rss_bytes"] = PeakRssBytes();
  if (train.copy_error) line["inference_error"] = RoundedReal(*train.copy_error);
  AddSearches(record.fill, line);
  if (validation) line.update(ValidationJson(*validation, config));
  line.update(FlatJson(times));
  return line;
}

Json SummaryJson(const RunSummary& summary, const Config& config, const std::string& device) {
  Json json = {
      {"schema", kSummarySchema},
      {"ended_by", kEndedBy.at(static_cast<std::size_t>(summary.end))},
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
      {"final_loss", summary.iterations > 0 ? Json(summary.final_loss) : nullptr},
      {"at_start", ToJson(summary.at_start, config)},
      {"validation", ToJson(summary.validation, config)},
      {"best", ToJson(summary.best, config)},
      {"best_update", summary.best ? Json(summary.best_update) : nullptr},
      {"peak_rss_bytes", summary.peak_rss_bytes},
      {"weights_sha256", summary.weights_sha256},
      {"since_update", summary.since_update},
      {"after_cold_start", AfterColdStart(summary, config)},
      {"cold_start_s", RoundedSeconds(summary.time.cold_start_s)},
      {"generate_critical_s", RoundedSeconds(summary.time.generate_critical_s)},
      {"train_critical_s", RoundedSeconds(summary.time.train_critical_s)},
      {"bottleneck", summary.bottleneck},
      {"learning", summary.learning},
      {"time", ToJson(summary.time.threads)}};
  AddSearches(summary.last_fill, json);
  if (summary.time.gpu) json["time"]["gpu"] = ToJson(*summary.time.gpu);
  json.update(summary.sections);
  return json;
}

bool HasGrowingTargets(const Config& config) {
  return config.labels_with_network() && BacksUpEstimates(config.generate.target);
}

std::string ErrorKey(const Config& config) {
  return config.validation.file.empty() ? "walk_length_error" : "value_error";
}

std::string DescribeValueError(std::optional<double> error, const Config& config) {
  if (!error) return "";
  if (!config.validation.file.empty()) {
    return fmt::format(", error against optimal lengths {:.2f}", *error);
  }
  if (NeedsNetwork(config.generate.target)) return "";
  return fmt::format(", error against walk lengths {:.2f}", *error);
}

std::string WhatSolves(const ValidationConfig& validation) {
  return validation.beam_width == 0
             ? "greedy descent solves"
             : fmt::format("beam search with width {} solves", validation.beam_width);
}

std::string DescribeSchedule(const RunSummary& summary, const Config& config) {
  constexpr double kNearlyAll = 0.95;
  const bool was_cut = summary.end == RunEnd::kTimeLimit && !config.train.follows_clock;
  if (!was_cut || !DependsOnLength(config.optimizer.schedule)) return "";
  const double done =
      UpdatePlan(config.train).Done(summary.iterations, config.train.iterations_per_update);
  if (done >= kNearlyAll) return "";
  return fmt::format(
      "the time limit came after {} of {} updates, {:.0f} % of the learning-rate schedule; set "
      "train.max_updates to auto, so that the schedule ends with the time",
      summary.updates, *config.train.max_updates, 100 * done);
}

std::string DescribeLearning(const RunCounters& run, const Config& config,
                             std::optional<double> longest_label) {
  if (config.generate.target == Target::kSelfPlay) {
    return "whether the network is learning is unknown, because games have an opponent instead of "
           "validation; compare it with the untrained network by `tandem evaluate`";
  }
  if (config.validation.every_updates == 0) {
    return "whether the network is learning is unknown, because validation.every_updates is 0";
  }
  if (!run.validation) {
    return "whether the network is learning is unknown: the run ended before its first validation";
  }
  const ValidationResult& now = *run.validation;
  const std::string solves =
      fmt::format("{} {} of the validation states", WhatSolves(config.validation), Percent(now));
  if (run.best && IsClearlyAbove(run.best->solve_rate, now.solve_rate, now.states)) {
    return fmt::format(
        "the network was learning and has got worse: {}, and solved {} after update {}, the "
        "network in best.safetensors; lower optimizer.learning_rate (now {})",
        solves, Percent(*run.best), run.best_update, config.optimizer.learning_rate);
  }
  if (!run.at_start) return fmt::format("{}; the share before training was not measured", solves);
  const ValidationResult& start = *run.at_start;
  const std::string both = fmt::format("{}, and solved {} before training", solves, Percent(start));
  const std::string reach = DescribeReach(config, longest_label);
  if (IsClearlyAbove(now.solve_rate, start.solve_rate, now.states)) {
    return fmt::format("the network is learning: {}{}", both, reach);
  }
  if (IsClearlyAbove(start.solve_rate, now.solve_rate, now.states)) {
    return fmt::format("the network has got worse: {}; lower optimizer.learning_rate (now {})",
                       both, config.optimizer.learning_rate);
  }
  const bool error_counts =
      start.value_error && !DescribeValueError(now.value_error, config).empty();
  if (error_counts && *now.value_error < kLowerError * *start.value_error) {
    return fmt::format(
        "the network is learning, but does not solve more states yet: {}; the error against {} "
        "lengths fell from {:.2f} to {:.2f}",
        both, config.validation.file.empty() ? "walk" : "optimal", *start.value_error,
        *now.value_error);
  }
  if (start.solve_rate > 0.5) {
    return fmt::format("the network solves about as many states as before training: {}{}", both,
                       reach);
  }
  return fmt::format(
      "the network shows no sign of learning yet: {}{}{}; train longer, or lower "
      "generate.max_scramble (now {})",
      both, now.solve_rate > start.solve_rate ? ", which chance can explain" : "", reach,
      config.generate.max_scramble);
}

}  // namespace tandem
