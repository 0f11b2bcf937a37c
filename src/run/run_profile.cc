#include "run/run_profile.h"

#include <fmt/format.h>

#include <cmath>
#include <ctime>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "pipeline/generator_thread.h"
#include "shards/shard_pipeline.h"
#include "tandem/error.h"
#include "train/loader.h"

namespace tandem {
namespace {

nlohmann::ordered_json PhasesOf(const PhaseTimes& times) {
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  for (std::size_t i = 0; i < kNumPhases; ++i) {
    const auto phase = static_cast<Phase>(i);
    const double seconds = RoundedSeconds(times[phase]);
    if (phase != Phase::kUnnamed && seconds > 0) json[std::string(PhaseName(phase))] = seconds;
  }
  return json;
}

nlohmann::ordered_json ToJson(const PhaseTimes& times) {
  nlohmann::ordered_json json = {{"wall_s", RoundedSeconds(times.wall_s)}};
  if (times.synchronize_s > 0) json["synchronize_s"] = RoundedSeconds(times.synchronize_s);
  json["phases"] = PhasesOf(times);
  return json;
}

void AddFlat(const std::string& thread, const PhaseTimes& times, nlohmann::ordered_json& json) {
  constexpr double kLeastShare = 0.01;
  for (std::size_t i = 0; i < kNumPhases; ++i) {
    const auto phase = static_cast<Phase>(i);
    const double seconds = std::round(times[phase] * 1e3) / 1e3;
    const bool says_something = phase != Phase::kUnnamed && phase != Phase::kIdle;
    if (!says_something || seconds == 0 || seconds < kLeastShare * times.wall_s) continue;
    json[fmt::format("{}_{}_s", thread, PhaseName(phase))] = seconds;
  }
}

// Returns the time that the main thread did not wait for rows. Waits for the prefetch thread and
// the device count as training.
double TrainingIn(const PhaseTimes& main) {
  return main.Sum() - main[Phase::kIdle] - main[Phase::kWaitForRows];
}

// Returns the time that generation worked. The generator thread's waits for workers count as work.
double GeneratingIn(const PhaseTimes& generator) {
  return generator.Sum() - generator[Phase::kIdle] - generator[Phase::kWaitForFreeSlot] -
         generator[Phase::kWaitForAnswer];
}

ThreadTimes Less(ThreadTimes times, const ThreadTimes& earlier) {
  times.main -= earlier.main;
  times.generator -= earlier.generator;
  times.prefetch -= earlier.prefetch;
  times.validation_prefetch -= earlier.validation_prefetch;
  times.disk -= earlier.disk;
  times.transfer -= earlier.transfer;
  times.workers -= earlier.workers;
  return times;
}

constexpr const char* kMainThread = "main";

// Returns the times of a thread by its name. A new kind of thread needs an entry here.
PhaseTimes& AccountOf(const std::string& thread, ThreadTimes& all) {
  constexpr std::pair<std::string_view, PhaseTimes ThreadTimes::*> kAccounts[] = {
      {kMainThread, &ThreadTimes::main},
      {kGeneratorThread, &ThreadTimes::generator},
      {kPrefetchThread, &ThreadTimes::prefetch},
      {kValidationPrefetch, &ThreadTimes::validation_prefetch},
      {kDiskThread, &ThreadTimes::disk},
      {kTransferThread, &ThreadTimes::transfer}};
  for (const auto& [name, account] : kAccounts) {
    if (name == thread) return all.*account;
  }
  throw Error(fmt::format("the thread '{}' has no entry in ThreadTimes", thread));
}

double CoreSeconds(clockid_t clock) {
  timespec spent{};
  clock_gettime(clock, &spent);
  return static_cast<double>(spent.tv_sec) + 1e-9 * static_cast<double>(spent.tv_nsec);
}

}  // namespace

nlohmann::ordered_json ToJson(const ThreadTimes& times) {
  nlohmann::ordered_json json = {{kMainThread, ToJson(times.main)},
                                 {kGeneratorThread, ToJson(times.generator)}};
  if (times.prefetch.wall_s > 0) json[kPrefetchThread] = ToJson(times.prefetch);
  if (times.validation_prefetch.wall_s > 0) {
    json[kValidationPrefetch] = ToJson(times.validation_prefetch);
  }
  if (times.disk.wall_s > 0) json[kDiskThread] = ToJson(times.disk);
  if (times.transfer.wall_s > 0) json[kTransferThread] = ToJson(times.transfer);
  json["workers"] = {{"count", times.worker_count},
                     {"wall_s", RoundedSeconds(times.workers.wall_s)},
                     {"busy_s", RoundedSeconds(times.workers.Work())},
                     {"phases", PhasesOf(times.workers)}};
  return json;
}

nlohmann::ordered_json FlatJson(const ThreadTimes& times) {
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  AddFlat(kMainThread, times.main, json);
  AddFlat(kGeneratorThread, times.generator, json);
  AddFlat(kPrefetchThread, times.prefetch, json);
  AddFlat(kDiskThread, times.disk, json);
  AddFlat(kTransferThread, times.transfer, json);
  AddFlat("workers", times.workers, json);
  return json;
}

nlohmann::ordered_json ToJson(const GpuTimes& times) {
  nlohmann::ordered_json streams = nlohmann::ordered_json::object();
  for (const auto& [number, stream] : times.streams) {
    streams[std::to_string(number)] = {
        {"kernels_s", RoundedSeconds(stream.kernels_s)},
        {"copies_s", RoundedSeconds(stream.copies_s)},
        {"idle_s", RoundedSeconds(times.traced_s - stream.kernels_s - stream.copies_s)}};
  }
  return {{"traced_s", RoundedSeconds(times.traced_s)},
          {"busy_s", RoundedSeconds(times.busy_s)},
          {"streams", std::move(streams)}};
}

RunProfile::RunProfile(Stopwatch began)
    : timeline_(began.start()), main_(timeline_.AddMainTrack(kMainThread, Phase::kSetUp)) {}

void RunProfile::TrainingStarts() {
  if (!cold_) cold_ = Now();
}

RunProfile::Mark RunProfile::Now() const {
  return {.times = Times(),
          .core_s = CoreSeconds(CLOCK_PROCESS_CPUTIME_ID),
          .main_core_s = CoreSeconds(CLOCK_THREAD_CPUTIME_ID)};
}

ThreadTimes RunProfile::Times() const {
  ThreadTimes all;
  for (const Timeline::TrackTimes& track : timeline_.Times()) {
    if (track.is_worker) {
      all.workers += track.times;
      ++all.worker_count;
    } else {
      AccountOf(track.name, all) += track.times;
    }
  }
  return all;
}

ThreadTimes RunProfile::TakeTimes() {
  const ThreadTimes now = Times();
  return Less(now, std::exchange(taken_, now));
}

TimeReport RunProfile::Report() const {
  TimeReport report{.threads = Times()};
  if (!cold_) {
    report.cold_start_s = report.threads.main[Phase::kWaitForRows];
    return report;
  }
  const Mark end = trained_ ? *trained_ : Now();
  const ThreadTimes warm = Less(end.times, cold_->times);
  report.cold_start_s = cold_->times.main[Phase::kWaitForRows];
  report.wall_s = warm.main.wall_s;
  report.generate_critical_s = GeneratingIn(warm.generator);
  report.train_critical_s = TrainingIn(warm.main);
  report.wait_for_rows_s = warm.main[Phase::kWaitForRows];
  report.core_s = end.core_s - cold_->core_s;
  report.main_core_s = end.main_core_s - cold_->main_core_s;
  report.generating_thread_s = warm.generator.Work() + warm.workers.Work();
  return report;
}

}  // namespace tandem
