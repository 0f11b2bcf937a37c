#include "train/run_profile.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <ctime>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "data/loader.h"
#include "data/shard_pipeline.h"
#include "data/stream_reader.h"
#include "tandem/error.h"
#include "train/generator_thread.h"

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

void AddFlat(std::string_view thread, const PhaseTimes& times, nlohmann::ordered_json& json) {
  constexpr double kLeastShare = 0.01;
  for (std::size_t i = 0; i < kNumPhases; ++i) {
    const auto phase = static_cast<Phase>(i);
    const double seconds = std::round(times[phase] * 1e3) / 1e3;
    const bool is_reported = phase != Phase::kUnnamed && phase != Phase::kIdle;
    if (!is_reported || seconds == 0 || seconds < kLeastShare * times.wall_s) continue;
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
         generator[Phase::kWaitForInference];
}

constexpr const char* kMainThread = "main";

// The threads of a run, by name. A new kind of thread needs an entry here.
struct NamedThread {
  std::string_view name;
  PhaseTimes ThreadTimes::*times;
  bool always_reported = false;  // even if the run did not start it
  bool in_metrics = true;
};
constexpr auto kThreads = std::to_array<NamedThread>(
    {{kMainThread, &ThreadTimes::main, /*always_reported=*/true},
     {kGeneratorThread, &ThreadTimes::generator, /*always_reported=*/true},
     {kPrefetchThread, &ThreadTimes::prefetch},
     {kValidationPrefetch, &ThreadTimes::validation_prefetch, false, /*in_metrics=*/false},
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

PhaseTimes& TimesOf(const std::string& name, ThreadTimes& all) {
  const auto* const found = std::ranges::find(kThreads, name, &NamedThread::name);
  if (found != kThreads.end()) return all.*found->times;
  throw Error(fmt::format("the thread '{}' has no entry in ThreadTimes", name));
}

double CoreSeconds(clockid_t clock) {
  timespec spent{};
  clock_gettime(clock, &spent);
  return static_cast<double>(spent.tv_sec) + 1e-9 * static_cast<double>(spent.tv_nsec);
}

}  // namespace

nlohmann::ordered_json ToJson(const ThreadTimes& times) {
  nlohmann::ordered_json json;
  for (const NamedThread& thread : kThreads) {
    const PhaseTimes& of_thread = times.*thread.times;
    if (thread.always_reported || of_thread.wall_s > 0) {
      json[std::string(thread.name)] = ToJson(of_thread);
    }
  }
  json["workers"] = {{"count", times.worker_count},
                     {"wall_s", RoundedSeconds(times.workers.wall_s)},
                     {"busy_s", RoundedSeconds(times.workers.Work())},
                     {"phases", PhasesOf(times.workers)}};
  return json;
}

nlohmann::ordered_json FlatJson(const ThreadTimes& times) {
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  for (const NamedThread& thread : kThreads) {
    if (thread.in_metrics) AddFlat(thread.name, times.*thread.times, json);
  }
  AddFlat("workers", times.workers, json);
  return json;
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
      TimesOf(track.name, all) += track.times;
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
    report.cold_start_s = report.threads.main[Phase::kWaitForRows];
    return report;
  }
  const Mark end = trained_ ? *trained_ : Now();
  const ThreadTimes warm = Difference(end.times, cold_->times);
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

namespace {

// Waits and phases below this share of the time are not reported.
constexpr double kNegligible = 0.02;

std::string DescribeThread(std::string_view name, const PhaseTimes& times) {
  std::vector<std::pair<double, std::string_view>> shares;
  for (std::size_t i = 0; i < kNumPhases; ++i) {
    const auto phase = static_cast<Phase>(i);
    const double share = times[phase] / times.wall_s;
    if (phase != Phase::kUnnamed && share >= kNegligible) {
      shares.emplace_back(share, PhaseName(phase));
    }
  }
  std::ranges::sort(shares, std::greater());
  std::vector<std::string> parts;
  parts.reserve(shares.size());
  for (const auto& [share, phase] : shares) {
    parts.push_back(fmt::format("{} {:.0f} %", phase, 100 * share));
  }
  return fmt::format("{:<10} {}", name, fmt::join(parts, ", "));
}

// Returns the average number of CPU cores that the run kept busy.
double CoresUsed(const TimeReport& report) {
  return report.wall_s > 0 ? report.core_s / report.wall_s : 0;
}

// Returns advice if the main thread had work but often no core, because other programs or the run's
// own threads used the cores. More threads would then only wait more. Returns "" if it had a core.
std::string AdviceForSharedCores(const TimeReport& report, const Config& c, std::int64_t cores) {
  constexpr double kFewCores = 0.8;  // share of the main thread's work
  constexpr double kAllCores = 0.9;
  const double work = report.train_critical_s - report.threads.main[Phase::kWaitForBatch];
  const bool measured = c.device == "cpu" && report.main_core_s > 0 && work > 0;
  if (!measured || report.main_core_s > kFewCores * work) return "";
  const double used = CoresUsed(report);
  const std::string lower =
      *c.train.threads > 1 ? fmt::format("lower train.threads (now {})", *c.train.threads)
                           : fmt::format("lower generate.workers (now {})", *c.generate.workers);
  if (used > kAllCores * static_cast<double>(cores)) {
    return fmt::format("the run's own threads compete for {}: {}", Counted(cores, "core"), lower);
  }
  return fmt::format(
      "threads waited for each other or for cores that other programs use (the run got {:.1f} of "
      "{}): {}",
      used, cores, lower);
}

bool HasIdleCore(const TimeReport& report, std::int64_t cores) {
  return CoresUsed(report) + 0.5 < static_cast<double>(cores);
}

// Returns what would make generation faster: more threads, or a faster network if evaluation takes
// most of the time.
std::string AdviceForGeneration(const TimeReport& report, const Config& c, std::int64_t cores) {
  const ThreadTimes& times = report.threads;
  if (std::string advice = AdviceForSharedCores(report, c, cores); !advice.empty()) {
    return advice;
  }
  if (times.generator[Phase::kEvaluate] > 0.5 * times.generator.Work()) {
    if (c.device == "cpu" && *c.inference.threads < cores && HasIdleCore(report, cores)) {
      return fmt::format("raise inference.threads (now {}, of {} cores)", *c.inference.threads,
                         cores);
    }
    if (c.inference.precision == Precision::kFp32) {
      return "evaluation takes most of it: try inference.precision: bf16";
    }
    return fmt::format(
        "evaluation takes most of it: raise inference.batch_size and generate.chunk_rows (now {} "
        "and {}), or lower network.width",
        c.inference.rows_at_once(), c.generate.chunk_rows);
  }
  if (*c.generate.workers < cores) {
    return fmt::format("raise generate.workers (now {}, of {} cores)", *c.generate.workers, cores);
  }
  if (c.rows_of(0) < c.generate.chunk_rows * *c.generate.workers) {
    return fmt::format("lower generate.chunk_rows (now {}), so that every worker gets chunks",
                       c.generate.chunk_rows);
  }
  return fmt::format("all {} cores generate: lower generate.max_scramble (now {})", cores,
                     c.generate.max_scramble);
}

std::string SmallerNetwork(const NetworkConfig& network) {
  constexpr std::int64_t kNarrow = 64;
  if (network.width <= kNarrow) return fmt::format("lower network.blocks (now {})", network.blocks);
  return fmt::format("lower network.width (now {})", network.width);
}

std::string AdviceForTraining(const TimeReport& report, const Config& c, std::int64_t cores) {
  const ThreadTimes& times = report.threads;
  const PhaseTimes& main = times.main;
  const PhaseTimes& prefetch = times.prefetch;
  const bool ring_was_full = prefetch[Phase::kWaitForRoom] > 0.5 * prefetch.wall_s;
  if (main[Phase::kWaitForBatch] > 0.1 * main.Work() && !ring_was_full) {
    return fmt::format("it waits for batches: raise prefetch.depth (now {})", c.prefetch.depth);
  }
  if (std::string advice = AdviceForSharedCores(report, c, cores); !advice.empty()) {
    return advice;
  }
  if (c.device == "cpu" && *c.train.threads < cores && HasIdleCore(report, cores)) {
    return fmt::format("raise train.threads (now {}, of {} cores)", *c.train.threads, cores);
  }
  if (main[Phase::kValidation] + main[Phase::kCheckpoint] > 0.2 * main.Work()) {
    return fmt::format(
        "validation and checkpoints take much of it: lower validation.states (now {}), or raise "
        "validation.every_updates (now {}) or checkpoint.every_updates (now {})",
        c.validation.states, c.validation.every_updates, c.checkpoint.every_updates);
  }
  if (c.device != "cpu") {
    return fmt::format("raise train.batch_size (now {}) if the GPU is not full, or {}",
                       c.train.batch_size, SmallerNetwork(c.network));
  }
  std::string smaller = SmallerNetwork(c.network);
  if (c.live_rows_of(0) == 0) return smaller;
  return fmt::format("{}, or, because both sides share the cores, lower generate.workers (now {})",
                     smaller, *c.generate.workers);
}

// Names the slower of the two stages between shards and training.
std::string DescribeReading(const ThreadTimes& times) {
  const bool disk = times.disk.Work() > times.transfer.Work();
  const double work = std::max(times.disk.Work(), times.transfer.Work());
  if (work < 0.5 * times.main.wall_s) {
    return fmt::format(
        "handing over chunks is the bottleneck: training waited {} for them, although neither the "
        "disk nor copies were busy; generate shards with more rows per chunk (`tandem generate "
        "--chunk-rows`), or raise data.cpu_prefetch and data.gpu_prefetch",
        HumanSeconds(times.main[Phase::kGpuQueueWait]));
  }
  return fmt::format(
      "{} is the bottleneck: training waited {} for chunks of shards; {}",
      disk ? "reading shards" : "copying to the device",
      HumanSeconds(times.main[Phase::kGpuQueueWait]),
      disk ? "move data.path to a faster disk, or raise data.live_share"
           : "set prefetch.pin_memory and prefetch.copy_stream to true, or raise data.live_share");
}

std::string Ideal(double ideal, double measured) {
  return fmt::format("the ideal overlap would take {} of these {}", HumanSeconds(ideal),
                     HumanSeconds(measured));
}

}  // namespace

std::vector<std::string> DescribeTimes(const ThreadTimes& times) {
  std::vector<std::string> lines;
  for (const NamedThread& thread : kThreads) {
    const PhaseTimes& of_thread = times.*thread.times;
    const bool did_nothing = thread.name == kWriterThread && of_thread.Work() == 0;
    if (thread.in_metrics && of_thread.wall_s > 0 && !did_nothing) {
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

std::string DescribeBottleneck(const TimeReport& report, const Config& config, std::int64_t cores) {
  if (report.train_critical_s == 0) return "nothing was trained";
  if (report.threads.main[Phase::kGpuQueueWait] > kNegligible * report.wall_s) {
    if (config.streams()) {
      return fmt::format(
          "generating is the bottleneck: training waited {} for rows of other processes; start "
          "more of `tandem generate --follow`, or raise data.live_share (now {})",
          HumanSeconds(report.threads.main[Phase::kGpuQueueWait]), config.data.live_share);
    }
    return DescribeReading(report.threads);
  }
  if (config.live_rows_of(0) == 0) {
    return fmt::format("training is the bottleneck: it waited {} for chunks of shards; {}",
                       HumanSeconds(report.threads.main[Phase::kGpuQueueWait]),
                       AdviceForTraining(report, config, cores));
  }
  const double generate = report.generate_critical_s;
  const double train = report.train_critical_s;
  const double wait = report.wait_for_rows_s;
  const double measured = train + wait;
  if (config.train.max_updates == 1) {
    return fmt::format(
        "with a single update there is nothing to overlap: its rows took {}, training {}",
        HumanSeconds(report.cold_start_s), HumanSeconds(train));
  }
  const std::string ideal = Ideal(std::max(generate, train), measured);
  if (config.pipeline.mode == Mode::kSequential) {
    return fmt::format(
        "generation ({}) and training ({}) took turns; {}: set pipeline.mode to async",
        HumanSeconds(generate), HumanSeconds(train), ideal);
  }
  if (wait > kNegligible * measured) {
    return fmt::format("generation is the bottleneck: training waited {} for rows; {}; {}",
                       HumanSeconds(wait), ideal, AdviceForGeneration(report, config, cores));
  }
  return fmt::format(
      "training is the bottleneck: it waited {} for rows, which took {} to make; {}; {}",
      HumanSeconds(wait), HumanSeconds(generate), ideal, AdviceForTraining(report, config, cores));
}

std::string DescribeCores(const TimeReport& report, std::int64_t cores) {
  const double wall = std::max(report.wall_s, 1e-9);
  return fmt::format("{:<10} {:.1f} of {} used: {} of CPU time in {}; the main thread {:.0f} %",
                     "cores", CoresUsed(report), cores, HumanSeconds(report.core_s),
                     HumanSeconds(report.wall_s), 100 * report.main_core_s / wall);
}

}  // namespace tandem
