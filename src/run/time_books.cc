#include "run/time_books.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string>

namespace tandem {
namespace {

// JSON would show every digit of a nanosecond's fraction.
double Rounded(double seconds) { return std::round(seconds * 1e6) / 1e6; }

nlohmann::ordered_json PhasesOf(const PhaseTimes& times) {
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  for (std::size_t i = 0; i < kNumPhases; ++i) {
    const auto phase = static_cast<Phase>(i);
    const double seconds = Rounded(times[phase]);
    if (phase != Phase::kUnnamed && seconds > 0) json[std::string(PhaseName(phase))] = seconds;
  }
  return json;
}

nlohmann::ordered_json ToJson(const PhaseTimes& times) {
  nlohmann::ordered_json json = {{"wall_s", Rounded(times.wall_s)}};
  if (times.synchronize_s > 0) json["synchronize_s"] = Rounded(times.synchronize_s);
  json["phases"] = PhasesOf(times);
  return json;
}

// Not waiting for rows. What the prefetch thread and the device make it wait for is training too.
double TrainingIn(const PhaseTimes& main) {
  return main.Sum() - main[Phase::kIdle] - main[Phase::kWaitForRows];
}

}  // namespace

nlohmann::ordered_json ToJson(const ThreadTimes& times) {
  nlohmann::ordered_json json = {{"main", ToJson(times.main)},
                                 {"generator", ToJson(times.generator)}};
  if (times.prefetch.wall_s > 0) json["prefetch"] = ToJson(times.prefetch);
  json["workers"] = {{"count", times.worker_count},
                     {"wall_s", Rounded(times.workers.wall_s)},
                     {"busy_s", Rounded(times.workers.Work())},
                     {"phases", PhasesOf(times.workers)}};
  return json;
}

TimeBooks::TimeBooks(Stopwatch began)
    : timeline_(began.start()), main_(timeline_.AddMainTrack("main", Phase::kSetUp)) {}

void TimeBooks::UpdateStarts() {
  if (started_) return;
  started_ = true;
  main_before_ = main_.Times();
}

void TimeBooks::UpdateEnds(const UpdateRecord& record) {
  if (updates_++ == 0) {
    cold_start_s_ = record.wait_for_rows_s;
  } else {
    generate_critical_s_ += record.fill.seconds;
  }
}

ThreadTimes TimeBooks::Times() const {
  ThreadTimes all;
  for (const Timeline::TrackTimes& track : timeline_.Times()) {
    if (track.is_worker) {
      all.workers += track.times;
      ++all.worker_count;
    } else if (track.name == "generator") {
      all.generator += track.times;
    } else if (track.name == "prefetch") {
      all.prefetch += track.times;
    } else {
      all.main += track.times;
    }
  }
  return all;
}

ThreadTimes TimeBooks::TakeTimes() {
  const ThreadTimes now = Times();
  ThreadTimes since = now;
  since.main -= taken_.main;
  since.generator -= taken_.generator;
  since.prefetch -= taken_.prefetch;
  since.workers -= taken_.workers;
  taken_ = now;
  return since;
}

TimeReport TimeBooks::Report() const {
  TimeReport report{.threads = Times(),
                    .cold_start_s = cold_start_s_,
                    .generate_critical_s = generate_critical_s_};
  const PhaseTimes& main = report.threads.main;
  if (updates_ > 0) {
    report.train_critical_s = TrainingIn(main) - TrainingIn(main_before_);
    // The clock of the cold start began a little before the phase did.
    report.wait_for_rows_s = std::max(
        0.0, main[Phase::kWaitForRows] - main_before_[Phase::kWaitForRows] - cold_start_s_);
  }
  return report;
}

}  // namespace tandem
