#include "train/run_profile.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <ctime>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "data/shard_pipeline.h"
#include "data/stream_reader.h"
#include "loaders/loader.h"
#include "pipeline/generator_thread.h"
#include "tandem/error.h"

namespace tandem {
namespace {

nlohmann::ordered_json ActivitiesOf(const ActivityTimes& times) {
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  for (std::size_t i = 0; i < kNumActivities; ++i) {
    const auto activity = static_cast<Activity>(i);
    const double seconds = RoundedSeconds(times[activity]);
    if (activity == Activity::kUnnamed || seconds <= 0) continue;
    json[std::string(ActivityName(activity))] = seconds;
  }
  return json;
}

nlohmann::ordered_json ToJson(const ActivityTimes& times) {
  nlohmann::ordered_json json = {{"wall_s", RoundedSeconds(times.wall_s)}};
  if (times.synchronize_s > 0) json["synchronize_s"] = RoundedSeconds(times.synchronize_s);
  json["activities"] = ActivitiesOf(times);
  return json;
}

void AddFlat(std::string_view thread, const ActivityTimes& times, nlohmann::ordered_json& json) {
  constexpr double kLeastShare = 0.01;
  for (std::size_t i = 0; i < kNumActivities; ++i) {
    const auto activity = static_cast<Activity>(i);
    const double seconds = std::round(times[activity] * 1e3) / 1e3;
    const bool is_reported = activity != Activity::kUnnamed && activity != Activity::kIdle;
    if (!is_reported || seconds == 0 || seconds < kLeastShare * times.wall_s) continue;
    json[fmt::format("{}_{}_s", thread, ActivityName(activity))] = seconds;
  }
}

// Returns the time that the main thread did not wait for others. Waits for the prefetch thread and
// the device count as training.
double TrainingIn(const ActivityTimes& main) {
  return main.Sum() - main[Activity::kIdle] - main.WaitForOthers();
}

// `main` has the times before training began.
double ColdStartIn(const ActivityTimes& main) {
  return main[Activity::kWaitForRows] + main[Activity::kGpuQueueWait];
}

// Returns the time that generation worked. The generator thread's waits for workers count as work.
double GeneratingIn(const ActivityTimes& generator) {
  return generator.Sum() - generator[Activity::kIdle] - generator[Activity::kWaitForFreeSlot] -
         generator[Activity::kWaitForInference];
}

constexpr const char* kMainThread = "main";

// The threads of a run, by name. A new kind of thread needs an entry here.
struct NamedThread {
  std::string_view name;
  ActivityTimes ThreadTimes::*times;
  bool always_reported = false;  // even if the run did not start it
};
constexpr auto kThreads = std::to_array<NamedThread>(
    {{kMainThread, &ThreadTimes::main, /*always_reported=*/true},
     {kGeneratorThread, &ThreadTimes::generator, /*always_reported=*/true},
     {kPrefetchThread, &ThreadTimes::prefetch},
     {kDiskThread, &ThreadTimes::disk},
     {kTransferThread, &ThreadTimes::transfer},
     {kStreamThread, &ThreadTimes::reader},
     {kPublisherThread, &ThreadTimes::publisher},
     {kWriterThread, &ThreadTimes::writer}});

ThreadTimes Difference(ThreadTimes times, const ThreadTimes& earlier) {
  for (const NamedThread& thread : kThreads) times.*thread.times -= earlier.*thread.times;
  times.workers -= earlier.workers;
  return times;
}

ActivityTimes& TimesOf(const std::string& name, ThreadTimes& all) {
  const auto* const found = std::ranges::find(kThreads, name, &NamedThread::name);
  if (found != kThreads.end()) return all.*found->times;
  throw Error(fmt::format("the thread '{}' has no entry in ThreadTimes", name));
}

double CoreSeconds(clockid_t clock) {
  timespec spent{};
  clock_gettime(clock, &spent);
  return static_cast<double>(spent.tv_sec) + 1e-9 * static_cast<double>(spent.tv_nsec);
}

// Activities below this share of the time are not reported.
constexpr double kNegligible = 0.02;

std::string DescribeThread(std::string_view name, const ActivityTimes& times) {
  std::vector<std::pair<double, std::string_view>> shares;
  for (std::size_t i = 0; i < kNumActivities; ++i) {
    const auto activity = static_cast<Activity>(i);
    const double share = times[activity] / times.wall_s;
    if (activity != Activity::kUnnamed && share >= kNegligible) {
      shares.emplace_back(share, ActivityName(activity));
    }
  }
  std::ranges::sort(shares, std::greater());
  std::vector<std::string> parts;
  parts.reserve(shares.size());
  for (const auto& [share, activity] : shares) {
    parts.push_back(fmt::format("{} {:.0f} %", activity, 100 * share));
  }
  return fmt::format("{:<10} {}", name, fmt::join(parts, ", "));
}

}  // namespace

nlohmann::ordered_json ToJson(const ThreadTimes& times) {
  nlohmann::ordered_json json;
  for (const NamedThread& thread : kThreads) {
    const ActivityTimes& of_thread = times.*thread.times;
    if (thread.always_reported || of_thread.wall_s > 0) {
      json[std::string(thread.name)] = ToJson(of_thread);
    }
  }
  json["workers"] = {{"count", times.worker_count},
                     {"wall_s", RoundedSeconds(times.workers.wall_s)},
                     {"busy_s", RoundedSeconds(times.workers.Work())},
                     {"activities", ActivitiesOf(times.workers)}};
  return json;
}

nlohmann::ordered_json FlatJson(const ThreadTimes& times) {
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  for (const NamedThread& thread : kThreads) AddFlat(thread.name, times.*thread.times, json);
  AddFlat("workers", times.workers, json);
  return json;
}

std::vector<std::string> DescribeTimes(const ThreadTimes& times) {
  std::vector<std::string> lines;
  for (const NamedThread& thread : kThreads) {
    const ActivityTimes& of_thread = times.*thread.times;
    const bool did_nothing = thread.name == kWriterThread && of_thread.Work() == 0;
    if (of_thread.wall_s > 0 && !did_nothing) {
      lines.push_back(DescribeThread(thread.name, of_thread));
    }
  }
  if (times.worker_count > 0) {
    lines.push_back(DescribeThread(
        fmt::format("+{}", Counted(static_cast<long long>(times.worker_count), "worker")),
        times.workers));
  }
  return lines;
}

BusyShares BusySharesOf(const ThreadTimes& times) {
  const auto share = [&](double seconds) {
    return std::clamp(seconds / times.main.wall_s, 0.0, 1.0);
  };
  return {.generating = share(GeneratingIn(times.generator)),
          .training = share(TrainingIn(times.main))};
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
    : timeline_(began.start()), main_(timeline_.AddMainTrack(kMainThread, Activity::kSetUp)) {}

void RunProfile::OnTrainingStart() {
  if (!cold_) cold_ = Now();
}

RunProfile::Mark RunProfile::Now() const {
  return {.times = Times(),
          .core_s = CoreSeconds(CLOCK_PROCESS_CPUTIME_ID),
          .main_core_s = CoreSeconds(CLOCK_THREAD_CPUTIME_ID)};
}

ThreadTimes RunProfile::Times() const {
  ThreadTimes all;
  for (const Track* track : timeline_.Tracks()) {
    if (track->is_worker()) {
      all.workers += track->Times();
      ++all.worker_count;
    } else {
      TimesOf(track->name(), all) += track->Times();
    }
  }
  return all;
}

ThreadTimes RunProfile::TakeTimes() {
  const ThreadTimes now = Times();
  return Difference(now, std::exchange(taken_, now));
}

TimeReport RunProfile::Report() const {
  TimeReport report{.threads = Times()};
  if (!cold_) {
    report.cold_start_s = ColdStartIn(report.threads.main);
    return report;
  }
  const Mark end = trained_ ? *trained_ : Now();
  const ThreadTimes warm = Difference(end.times, cold_->times);
  report.cold_start_s = ColdStartIn(cold_->times.main);
  report.wall_s = warm.main.wall_s;
  report.generate_critical_s = GeneratingIn(warm.generator);
  report.train_critical_s = TrainingIn(warm.main);
  report.wait_for_rows_s = warm.main[Activity::kWaitForRows];
  report.wait_for_stored_s = warm.main[Activity::kGpuQueueWait];
  report.wait_for_ranks_s = warm.main[Activity::kWaitForRanks];
  report.wait_for_disk_s = warm.main[Activity::kWaitForDisk];
  report.core_s = end.core_s - cold_->core_s;
  report.main_core_s = end.main_core_s - cold_->main_core_s;
  report.generating_thread_s = warm.generator.Work() + warm.workers.Work();
  return report;
}

}  // namespace tandem
