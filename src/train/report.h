// The reports of a run: the lines of metrics.jsonl, summary.json, and sentences for the screen.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "config/config.h"
#include "pipeline/pipeline.h"
#include "train/run_counters.h"
#include "train/run_profile.h"

namespace tandem {

enum class RunEnd { kAllUpdates, kTimeLimit, kStopped };

/// RunSummary holds the contents of summary.json.
struct RunSummary : RunCounters {
  RunEnd end = RunEnd::kAllUpdates;
  /// The members that are not RunCounters count from here: 0, or the update that --resume began
  /// with.
  std::int64_t since_update = 0;
  std::int64_t parameters = 0;
  std::int64_t peak_rss_bytes = 0;
  int cores = 0;  ///< that the run could use
  std::string weights_sha256;
  TimeReport time;
  std::string bottleneck;  ///< a sentence (DescribeBottleneck)
  std::string learning;    ///< a sentence (DescribeLearning)
  FillStats last_fill;     ///< of the rows of the last update
  nlohmann::ordered_json sections = nlohmann::ordered_json::object();  ///< entries of RunSections
  std::vector<std::string> lines;  ///< of the RunSections, for the screen
};

/// RunSection measures a part of a run that only some runs have, and reports it. Only the main
/// thread uses it. An exception thrown by a method ends the run.
class RunSection {
 public:
  virtual ~RunSection() = default;

  /// Update `update` begins.
  virtual void OnUpdateStart(std::int64_t /*update*/) {}

  /// Iteration `iteration` of the run has ended.
  virtual void OnIteration(std::int64_t /*iteration*/) {}

  /// The training of an update has ended. Adds entries to `line`, its line of metrics.jsonl.
  virtual void OnUpdate(const UpdateRecord& /*record*/, nlohmann::ordered_json& /*line*/) {}

  /// `updates` updates are done and saved, and another one follows.
  virtual void OnUpdateEnd(std::int64_t /*updates*/) {}

  /// No update follows.
  virtual void OnTrainingEnd() {}

  /// Adds to the summary, which has its times. Call it once, at the end of the run.
  virtual void Report(RunSummary& /*summary*/) {}
};

/// Returns the entries of a validation: `solve_rate` and, unless the network is a policy, the error
/// under its ErrorKey, overall and by length.
nlohmann::ordered_json ValidationJson(const ValidationReport& report, const Config& config);

/// Returns a flat object for an update. `counters` are those after the update. `validation` is the
/// validation since the previous line, if there was one. `times` are those since the previous line;
/// their entries are named "main_forward_s" and so on, and entries below a millisecond or 1 %
/// of the thread's time are left out. Numbers are rounded.
nlohmann::ordered_json MetricsLine(const UpdateRecord& record, const Config& config,
                                   const RunCounters& counters,
                                   const std::optional<ValidationReport>& validation,
                                   const ThreadTimes& times);

/// Returns the contents of summary.json.
nlohmann::ordered_json SummaryJson(const RunSummary& summary, const Config& config,
                                   const std::string& device);

/// Returns whether the labels are backups of the network's estimates. The loss can then rise while
/// the network improves, because the targets grow.
bool HasGrowingTargets(const Config& config);

/// Returns the JSON name of ValidationResult::value_error: "value_error" if `validation.file` gives
/// the optimal lengths, else "walk_length_error".
std::string ErrorKey(const Config& config);

/// Returns ", error against walk lengths 2.49". Returns "" for value iteration without a validation
/// file, because walks then overestimate the costs that the network learns and the error says
/// little, and for a policy, which has no error.
std::string DescribeValueError(std::optional<double> error, const Config& config);

/// Returns what tries the validation states, with a verb: "greedy descent solves".
std::string WhatSolves(const ValidationConfig& validation);

/// Returns a sentence that says which share of the learning-rate schedule was done, if the time
/// limit came well before its end. Otherwise returns "".
std::string DescribeSchedule(const RunSummary& summary, const Config& config);

/// Returns a sentence that says whether the network is learning. Compares the share of validation
/// states that are solved with the share before training. `longest_label` is the largest of the
/// last update, or nothing if it is not known.
std::string DescribeLearning(const RunCounters& run, const Config& config,
                             std::optional<double> longest_label = std::nullopt);

/// Returns a line in the form of DescribeTimes that compares CPU time with wall time.
std::string DescribeCores(const TimeReport& report, std::int64_t cores);

/// Returns one sentence: which side is the bottleneck, or what training waited for; how long the
/// run would take with ideal overlap; and which setting to change on a machine with `cores` cores.
/// `config` must have no `auto` left.
std::string DescribeBottleneck(const TimeReport& report, const Config& config, std::int64_t cores);

}  // namespace tandem
