#include "run/time_books.h"

#include <sys/resource.h>

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

// CPU time of all threads so far.
double CoreSeconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

// Not waiting for rows. What the prefetch thread and the device make it wait for is training too.
double TrainingIn(const PhaseTimes& main) {
  return main.Sum() - main[Phase::kIdle] - main[Phase::kWaitForRows];
}

}  // namespace

ThreadTimes& ThreadTimes::operator-=(const ThreadTimes& earlier) {
  main -= earlier.main;
  generator -= earlier.generator;
  prefetch -= earlier.prefetch;
  workers -= earlier.workers;
  return *this;
}

double WarmTimes::idle_main() const {
  return threads.main[Phase::kWaitForRows] / threads.main.wall_s;
}

// The generator thread is one of the workers.
double WarmTimes::idle_workers(std::int64_t workers) const {
  const double asking = threads.generator[Phase::kEvaluate];
  const double busy = threads.workers.Work() + threads.generator.Work() - asking;
  return std::clamp(1 - busy / (static_cast<double>(workers) * threads.main.wall_s), 0.0, 1.0);
}

double WarmTimes::train_s() const { return TrainingIn(threads.main); }

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

void TimeBooks::IterationEnds() {
  if (before_warm_) return;
  before_warm_ = Times();
  core_s_before_warm_ = CoreSeconds();
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
  since -= taken_;
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
  if (before_warm_) {
    report.warm = {.threads = report.threads, .core_s = CoreSeconds() - core_s_before_warm_};
    report.warm.threads -= *before_warm_;
  }
  return report;
}

}  // namespace tandem
