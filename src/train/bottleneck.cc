#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/text.h"
#include "config/fields.h"
#include "train/report.h"

namespace tandem {
namespace {

// A wait is evidence if it is at least this share of the time, and more than a few waits of
// milliseconds.
constexpr double kNegligible = 0.02;
constexpr double kFewWaits = 0.05;  // seconds

// A run that trained for less than this, in seconds, says nothing about longer ones.
constexpr double kTooShort = 0.3;

// Returns the average number of CPU cores that the run kept busy.
double CoresUsed(const TimeReport& report) {
  return report.wall_s > 0 ? report.core_s / report.wall_s : 0;
}

bool HasIdleCore(const TimeReport& report, std::int64_t cores) {
  return CoresUsed(report) + 0.5 < static_cast<double>(cores);
}

// Returns how to find the best number of threads. The figures of one run do not say whether more or
// fewer would be faster: a thread may be idle because it waits for the others.
std::string CompareThreads(const char* key, const AutoInt& now, const Config& c,
                           std::int64_t cores) {
  std::string numbers = "1";
  for (std::int64_t threads = 2; threads <= cores; threads *= 2) {
    numbers += fmt::format(",{}", threads);
  }
  return fmt::format(
      "measure numbers of threads: tandem compare CONFIG --modes {} --vary {}={}{} (now {})",
      ValueText(c, "pipeline.mode"), key, numbers,
      c.train.follows_clock ? " --set train.max_updates=N" : "", *now);
}

// Returns advice if the main thread had work but often no core, because other programs or the run's
// own threads used the cores. Returns "" if it had a core.
std::string AdviceForSharedCores(const TimeReport& report, const Config& c, std::int64_t cores) {
  constexpr double kFewCores = 0.8;  // share of the main thread's work
  constexpr double kAllCores = 0.9;
  const double work = report.train_critical_s - report.threads.main[Activity::kWaitForBatch];
  const bool measured = c.device == "cpu" && report.main_core_s > 0 && work > 0;
  if (!measured || report.main_core_s > kFewCores * work) return "";
  const double used = CoresUsed(report);
  const std::string advice = cores > 1 ? CompareThreads("train.threads", c.train.threads, c, cores)
                                       : "give the run more cores";
  if (used > kAllCores * static_cast<double>(cores)) {
    return fmt::format("the run's own threads compete for {}: {}", Counted(cores, "core"), advice);
  }
  return fmt::format(
      "threads waited for each other or for cores that other programs use (the run got {:.1f} of "
      "{}): {}",
      used, cores, advice);
}

// Returns the share of generation's work that was in the puzzle's own code: scrambling, expanding
// and encoding states.
double ShareOfPuzzle(const ThreadTimes& times) {
  double puzzle = 0;
  for (const Activity activity : {Activity::kScramble, Activity::kExpand, Activity::kWrite}) {
    puzzle += times.generator[activity] + times.workers[activity];
  }
  const double work = times.generator.Work() + times.workers.Work();
  return work > 0 ? puzzle / work : 0;
}

// Returns what would make generation faster: a faster network if evaluation takes most of the time,
// or a faster puzzle.
std::string AdviceForGeneration(const TimeReport& report, const Config& c, std::int64_t cores) {
  const ThreadTimes& times = report.threads;
  const bool plays = c.generate.target == Target::kSelfPlay;
  if (times.generator[Activity::kEvaluate] > 0.5 * times.generator.Work()) {
    if (std::string advice = AdviceForSharedCores(report, c, cores); !advice.empty()) {
      return advice;
    }
    if (c.device == "cpu" && *c.inference.threads < cores && HasIdleCore(report, cores)) {
      return "a core was idle: " +
             CompareThreads("inference.threads", c.inference.threads, c, cores);
    }
    if (c.inference.precision == Precision::kFp32) {
      return "evaluation takes most of it: try inference.precision: bf16";
    }
    return fmt::format(
        "evaluation takes most of it: raise inference.batch_size and generate.chunk_rows (now {} "
        "and {}), or lower {}network.width",
        c.inference.rows_at_once(), c.generate.rows_of_chunk(),
        plays ? "generate.simulations or " : "");
  }
  if (*c.generate.workers < cores) {
    return fmt::format("raise generate.workers (now {}, of {} cores)", *c.generate.workers, cores);
  }
  if (c.generate.program == Program::kTensor) {
    return fmt::format(
        "operations on few rows take as long as on many: raise train.iterations_per_update (now "
        "{}) and generate.chunk_rows (now {})",
        c.train.iterations_per_update, c.generate.rows_of_chunk());
  }
  if (c.rows_per_update() < c.generate.rows_of_chunk() * *c.generate.workers) {
    return fmt::format("lower generate.chunk_rows (now {}), so that every worker gets chunks",
                       c.generate.rows_of_chunk());
  }
  const auto [key, value] = plays ? std::pair("simulations", c.generate.simulations)
                                  : std::pair("max_scramble", c.generate.max_scramble);
  return fmt::format("make the {}'s code faster, or lower generate.{} (now {})",
                     plays ? "game" : "puzzle", key, value);
}

std::string SmallerNetwork(const NetworkConfig& network) {
  constexpr std::int64_t kNarrow = 64;
  if (network.width <= kNarrow) return fmt::format("lower network.blocks (now {})", network.blocks);
  return fmt::format("lower network.width (now {})", network.width);
}

// Whether the GPU always had work: batches were copied, and then waited for those before them.
bool GpuWasFull(const TimeReport& report, const Config& c) {
  const double waited = report.threads.prefetch[Activity::kWaitForDevice];
  return c.device != "cpu" && waited > 0.5 * report.train_critical_s;
}

// Whether generation needs the GPU that trains for much of its time.
bool SharesGpu(const TimeReport& report, const Config& c) {
  const double evaluated = report.threads.generator[Activity::kEvaluate];
  return c.device != "cpu" && evaluated > 0.2 * report.generate_critical_s;
}

std::string AdviceForFullGpu(const TimeReport& report, const Config& c) {
  const std::string smaller = SmallerNetwork(c.network);
  if (!SharesGpu(report, c)) return fmt::format("the GPU is full: {}", smaller);
  return fmt::format("evaluation and training share a full GPU: {}{}",
                     c.inference.precision == Precision::kFp8
                         ? ""
                         : "try inference.precision: fp8 with wide layers, or ",
                     smaller);
}

std::string AdviceForTraining(const TimeReport& report, const Config& c, std::int64_t cores) {
  if (GpuWasFull(report, c)) return AdviceForFullGpu(report, c);
  const ThreadTimes& times = report.threads;
  const ActivityTimes& main = times.main;
  const ActivityTimes& prefetch = times.prefetch;
  const bool ring_was_full = prefetch[Activity::kWaitForRoom] > 0.5 * prefetch.wall_s;
  if (main[Activity::kWaitForBatch] > 0.1 * main.Work() && !ring_was_full) {
    return fmt::format("it waits for batches: raise prefetch.depth (now {})", c.prefetch.depth);
  }
  if (std::string advice = AdviceForSharedCores(report, c, cores); !advice.empty()) {
    return advice;
  }
  if (c.device == "cpu" && *c.train.threads < cores && HasIdleCore(report, cores)) {
    return "a core was idle: " + CompareThreads("train.threads", c.train.threads, c, cores);
  }
  if (main[Activity::kValidation] + main[Activity::kCheckpoint] > 0.2 * main.wall_s) {
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
  if (c.live_rows() == 0 || *c.generate.workers == 1) return smaller;
  return fmt::format("{}, or, because both sides share the cores, lower generate.workers (now {})",
                     smaller, *c.generate.workers);
}

// Names the slower of the two stages between shards and training.
std::string DescribeReading(const TimeReport& report) {
  const ThreadTimes& times = report.threads;
  const std::string waited = HumanSeconds(report.wait_for_stored_s);
  const bool disk = times.disk.Work() > times.transfer.Work();
  const double work = std::max(times.disk.Work(), times.transfer.Work());
  if (work < 0.5 * times.main.wall_s) {
    return fmt::format(
        "handing over chunks is the bottleneck: training waited {} for them, although neither the "
        "disk nor copies were busy; generate shards with more rows per chunk (`tandem generate "
        "--chunk-rows`)",
        waited);
  }
  return fmt::format(
      "{} is the bottleneck: training waited {} for chunks of shards; {}",
      disk ? "reading shards" : "copying to the device", waited,
      disk ? "move data.path to a faster disk, or raise data.live_share"
           : "set prefetch.pin_memory and prefetch.copy_stream to true, or raise data.live_share");
}

std::string DescribeStored(const TimeReport& report, const Config& config) {
  if (!config.streams()) return DescribeReading(report);
  return fmt::format(
      "generating is the bottleneck: training waited {} for rows of other processes; start more of "
      "`tandem generate --follow`, or raise data.live_share (now {})",
      HumanSeconds(report.wait_for_stored_s), config.data.live_share);
}

// The rank that waited least is the one for which the others waited.
std::string DescribeWaitForRanks(const TimeReport& report, const Config& config) {
  const std::string fewer =
      fmt::format("raise train.batch_size (now {}), so that the ranks meet less often",
                  config.train.batch_size);
  if (report.ranks) {
    const std::vector<double>& waits = report.ranks->wait_for_ranks_s;
    const auto [least, most] = std::ranges::minmax_element(waits);
    if (*least < 0.5 * *most) {
      return fmt::format(
          "the slowest rank is the bottleneck: {}, for which another one waited {}; give it a "
          "machine as fast as the others', or {}",
          report.ranks->names[static_cast<std::size_t>(least - waits.begin())], HumanSeconds(*most),
          fewer);
    }
  }
  return fmt::format(
      "the exchange between ranks is the bottleneck: training waited {} for the others, and they "
      "as long; {}",
      HumanSeconds(report.wait_for_ranks_s), fewer);
}

// Returns the longest wait for other ranks: of this process, or of all ranks if they are known.
double WaitForRanks(const TimeReport& report) {
  if (!report.ranks) return report.wait_for_ranks_s;
  return std::max(report.wait_for_ranks_s, std::ranges::max(report.ranks->wait_for_ranks_s));
}

std::string Ideal(double ideal, double measured) {
  return fmt::format("the ideal overlap would take {} of these {}", HumanSeconds(ideal),
                     HumanSeconds(measured));
}

}  // namespace

std::string DescribeBottleneck(const TimeReport& report, const Config& config, std::int64_t cores) {
  if (report.train_critical_s == 0) return "nothing was trained";
  const double generate = report.generate_critical_s;
  const double train = report.train_critical_s;
  const double wait = report.wait_for_rows_s;
  const double measured = train + report.waits_s();
  if (measured < kTooShort) {
    return fmt::format("no bottleneck is known: after the cold start the run took only {}",
                       HumanSeconds(measured));
  }
  const auto is_evidence = [&](double waited) {
    return waited > std::max(kFewWaits, kNegligible * measured);
  };
  const double for_ranks = WaitForRanks(report);
  if (is_evidence(report.wait_for_disk_s) &&
      report.wait_for_disk_s > std::max({wait, report.wait_for_stored_s, for_ranks})) {
    return fmt::format(
        "writing checkpoints is the bottleneck: training waited {} for the disk; choose a faster "
        "one, or raise checkpoint.every_updates and checkpoint.every_seconds (now {} and {:g})",
        HumanSeconds(report.wait_for_disk_s), config.checkpoint.every_updates,
        config.checkpoint.every_seconds);
  }
  if (is_evidence(for_ranks) && for_ranks > std::max(wait, report.wait_for_stored_s)) {
    return DescribeWaitForRanks(report, config);
  }
  if (is_evidence(report.wait_for_stored_s) && report.wait_for_stored_s > wait) {
    return DescribeStored(report, config);
  }
  if (config.live_rows() == 0) {
    return fmt::format("training is the bottleneck: it waited {} for {}; {}",
                       HumanSeconds(report.wait_for_stored_s),
                       config.streams() ? "rows of other processes" : "chunks of shards",
                       AdviceForTraining(report, config, cores));
  }
  if (config.train.max_updates == 1) {
    return fmt::format(
        "with a single update there is nothing to overlap: its rows took {}, training {}",
        HumanSeconds(report.cold_start_s), HumanSeconds(train));
  }
  const std::string ideal = Ideal(std::max(generate, train), measured);
  if (config.pipeline.mode == Mode::kSequential) {
    return fmt::format(
        "generation ({}) and training ({}) took turns; {}{}: set pipeline.mode to async",
        HumanSeconds(generate), HumanSeconds(train), ideal,
        SharesGpu(report, config) ? ", but both sides need the GPU" : "");
  }
  if (is_evidence(wait)) {
    return fmt::format(
        "generation is the bottleneck: training waited {} for rows, and the puzzle's own code took "
        "{:.0f} % of generation's work; {}; {}",
        HumanSeconds(wait), 100 * ShareOfPuzzle(report.threads), ideal,
        AdviceForGeneration(report, config, cores));
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
