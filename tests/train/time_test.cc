// Tests the accounting of a run's time: activities, reports, traces.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/worker.h"
#include "nn/device.h"
#include "support/small_run.h"
#include "support/temp_folder.h"
#include "support/wait.h"
#include "tandem/error.h"
#include "train/report.h"
#include "train/run_profile.h"
#include "train/timing_breakdown.h"
#include "train/trace.h"
#include "train/train_run.h"

namespace tandem {
namespace {

namespace fs = std::filesystem;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

constexpr const char* kTimed =
    "network: {width: 64, blocks: 1}\n"
    "generate: {max_scramble: 8, chunk_rows: 500, workers: 2}\n"
    "train: {batch_size: 500, iterations_per_update: 10, max_updates: 8, threads: 2}\n"
    "validation: {every_updates: 4, states: 20}\n";

RunSummary RunTimed(const std::vector<std::string>& sets,
                    std::optional<RunDirectory> directory = std::nullopt) {
  const std::shared_ptr<Device> device = OpenDevice("cpu");
  return TrainToTheEnd(ConfigWith(kTimed, sets, *device), device, std::move(directory));
}

// Runs up to three times, until `errors_of(summary, folder)` is empty, and returns the last
// summary. Another program may take a core from one run between two spans, but a span that is
// missing is missing in every run. Each run has a folder in `folder`, if that is not empty.
template <class ErrorsOf>
RunSummary BestOfThree(const std::vector<std::string>& sets, const fs::path& folder,
                       const ErrorsOf& errors_of) {
  for (int attempt = 1;; ++attempt) {
    const fs::path of_run = folder / std::to_string(attempt);
    RunSummary summary =
        folder.empty() ? RunTimed(sets) : RunTimed(sets, RunDirectory::Create(of_run));
    const std::string errors = errors_of(summary, of_run);
    if (errors.empty()) return summary;
    if (attempt < 3) continue;
    ADD_FAILURE() << errors;
    return summary;
  }
}

// Returns what is wrong if `seconds` is not between `least` and `most`.
std::string ErrorUnless(const std::string& what, double least, double seconds, double most) {
  if (least <= seconds && seconds <= most) return "";
  return fmt::format("{}: {:.6f} s, expected {:.6f} to {:.6f}\n", what, seconds, least, most);
}

// Returns what is wrong if too much of a thread's time is in no activity.
std::string ErrorUnlessCovered(const std::string& thread, const ActivityTimes& times) {
  if (times.wall_s <= 0) return thread + ": no time passed\n";
  return ErrorUnless("activities of " + thread, 0.98 * times.wall_s, times.Sum(),
                     1.0001 * times.wall_s);
}

class Accounts : public testing::TestWithParam<const char*> {
 protected:
  const TempFolder temp_;
};

TEST_P(Accounts, ActivitiesOfEachThreadAddUpToItsWallTime) {
  for (const char* mode : {"async", "sequential"}) {
    const std::vector<std::string> sets = {std::string("generate.target=") + GetParam(),
                                           std::string("pipeline.mode=") + mode,
                                           "optimizer.max_grad_norm=1"};
    const auto errors_of = [](const RunSummary& summary, const fs::path& /*folder*/) {
      const ThreadTimes& threads = summary.time.threads;
      std::string errors = ErrorUnlessCovered("main", threads.main) +
                           ErrorUnlessCovered("generator", threads.generator) +
                           ErrorUnlessCovered("prefetch", threads.prefetch);
      if (threads.worker_count > 0) errors += ErrorUnlessCovered("workers", threads.workers);
      return errors + ErrorUnless("main thread", 0.98 * summary.wall_s, threads.main.wall_s,
                                  1.02 * summary.wall_s);
    };
    const RunSummary summary = BestOfThree(sets, temp_.path() / mode, errors_of);
    const ThreadTimes& threads = summary.time.threads;
    for (const Activity activity :
         {Activity::kSetUp, Activity::kForward, Activity::kBackward, Activity::kClipGradients,
          Activity::kOptimizer, Activity::kValidation, Activity::kCheckpoint, Activity::kReport,
          Activity::kKeepState}) {
      EXPECT_GT(threads.main[activity], 0.0) << ActivityName(activity);
    }
    const ActivityTimes& made = threads.generator;
    EXPECT_GT(made[Activity::kScramble] + threads.workers[Activity::kScramble], 0.0);
    EXPECT_GT(made[Activity::kWrite] + threads.workers[Activity::kWrite], 0.0);
    const bool needs_network = GetParam() != std::string("walk_length");
    EXPECT_EQ(made[Activity::kEvaluate] > 0, needs_network);
    EXPECT_EQ(made[Activity::kBackUp] + threads.workers[Activity::kBackUp] > 0, needs_network);
    EXPECT_EQ(threads.main[Activity::kRefreshTarget] > 0, needs_network);
    EXPECT_GT(threads.prefetch[Activity::kGather], 0.0);
  }
}

TEST_P(Accounts, CriticalTimesLeaveOutTheColdStartAndWaits) {
  const auto errors_of = [](const RunSummary& summary, const fs::path& /*folder*/) {
    const TimeReport& time = summary.time;
    const ActivityTimes& main = time.threads.main;
    const double waits = main[Activity::kWaitForRows];
    const double margin = 0.02 * main.wall_s;
    const double after_set_up = time.cold_start_s + time.train_critical_s + time.wait_for_rows_s;
    return ErrorUnless("waits for rows", waits - margin, time.wait_for_rows_s + time.cold_start_s,
                       waits + margin) +
           ErrorUnless("after set-up", 0.98 * (main.wall_s - main[Activity::kSetUp]), after_set_up,
                       main.wall_s);
  };
  const RunSummary summary =
      BestOfThree({std::string("generate.target=") + GetParam()}, /*folder=*/{}, errors_of);
  EXPECT_GT(summary.time.cold_start_s, 0.0);
  EXPECT_GT(summary.time.generate_critical_s, 0.0);
}

INSTANTIATE_TEST_SUITE_P(Targets, Accounts, testing::Values("walk_length", "value_iteration"));

TEST(Accounts, AreWrittenToTheFilesOfTheRun) {
  const TempFolder temp;
  nlohmann::json summary;
  std::vector<nlohmann::json> metrics;
  BestOfThree({}, temp.path(), [&](const RunSummary& /*summary*/, const fs::path& folder) {
    summary = nlohmann::json::parse(ReadFile(folder / "summary.json"));
    metrics = MetricsOf(folder);
    std::string errors;
    for (const char* thread : {"main", "generator", "prefetch"}) {
      const nlohmann::json& times = summary["time"][thread];
      double sum = 0;
      for (const auto& [activity, seconds] : times["activities"].items()) sum += double(seconds);
      const auto wall_s = times["wall_s"].get<double>();
      errors += ErrorUnless(thread, 0.98 * wall_s, sum, 1.02 * wall_s);
    }
    return errors;
  });
  EXPECT_TRUE(summary["time"]["workers"].contains("busy_s"));
  EXPECT_GT(summary["train_critical_s"], 0.0);

  double forward = 0;
  for (const nlohmann::json& line : metrics) forward += line.value("main_forward_s", 0.0);
  EXPECT_NEAR(forward, double(summary["time"]["main"]["activities"]["forward"]), 8 * 0.0005);
}

TEST(Trace, FailureToWriteItDoesNotEndTheRun) {
  const TempFolder temp;
  const RunDirectory directory = RunDirectory::Create(temp.path() / "run");
  std::filesystem::create_directories(directory.trace() / "in the way");
  testing::internal::CaptureStderr();
  const RunSummary summary = RunTimed({"profile.trace_updates=2"}, directory);
  EXPECT_NE(testing::internal::GetCapturedStderr().find("trace.json: cannot record a trace: "),
            std::string::npos);
  EXPECT_EQ(summary.updates, 8);
}

TEST(Accounts, UnknownThreadIsAnError) {
  RunProfile profile{Stopwatch()};
  const Attach attach(profile.main());
  const Worker known("prefetch");
  EXPECT_GT(profile.TakeTimes().main.wall_s, 0.0);
  const Worker stranger("stranger");
  EXPECT_THROW(profile.TakeTimes(), Error);
}

// Otherwise a slow last checkpoint would make modes look more alike than they are.
TEST(RunProfile, ReportLeavesOutWorkAfterTheLastUpdate) {
  using std::chrono::milliseconds;
  RunProfile profile{Stopwatch()};
  const Attach attach(profile.main());
  profile.OnTrainingStart();
  {
    const Span span(Activity::kForward);
    TakeTime(milliseconds(5));
  }
  profile.OnTrainingEnd();
  {
    const Span span(Activity::kCheckpoint);
    TakeTime(milliseconds(30));
  }
  const TimeReport report = profile.Report();
  EXPECT_GE(report.threads.main[Activity::kCheckpoint], 0.03);
  EXPECT_GE(report.train_critical_s, 0.005);
  EXPECT_LE(report.train_critical_s, report.wall_s);
  EXPECT_LE(report.wall_s, report.threads.main.wall_s - 0.03);
}

// A run that waits for a stream, for shards or for other ranks does not train meanwhile.
TEST(RunProfile, WaitsForOthersAreNotTraining) {
  using std::chrono::milliseconds;
  RunProfile profile{Stopwatch()};
  const Attach attach(profile.main());
  {
    const Span cold(Activity::kGpuQueueWait);  // the first chunk
    TakeTime(milliseconds(20));
  }
  profile.OnTrainingStart();
  profile.TakeTimes();
  for (const Activity wait :
       {Activity::kGpuQueueWait, Activity::kWaitForRanks, Activity::kWaitForDisk}) {
    const Span span(wait);
    TakeTime(milliseconds(40));
  }
  {
    const Span span(Activity::kForward);
    TakeTime(milliseconds(1));
  }
  const TimeReport report = profile.Report();
  EXPECT_GE(report.cold_start_s, 0.02);
  EXPECT_GE(report.wait_for_stored_s, 0.04);
  EXPECT_LT(report.wait_for_stored_s, report.wall_s - 0.04);  // without the cold start
  EXPECT_GE(report.wait_for_ranks_s, 0.04);
  EXPECT_GE(report.wait_for_disk_s, 0.04);
  EXPECT_LE(report.train_critical_s, report.wall_s - 0.12);
  EXPECT_LT(BusySharesOf(profile.TakeTimes()).training, 0.5);
}

TEST(TimingBreakdown, DoesNotChangeTheWeights) {
  for (const char* target : {"walk_length", "value_iteration"}) {
    const std::string generate = std::string("generate.target=") + target;
    const RunSummary exact =
        BestOfThree({generate, "profile.timing_breakdown=true"}, /*folder=*/{},
                    [](const RunSummary& summary, const fs::path& /*folder*/) {
                      return ErrorUnlessCovered("main", summary.time.threads.main);
                    });
    EXPECT_EQ(exact.weights_sha256, RunTimed({generate}).weights_sha256);
    const ThreadTimes& threads = exact.time.threads;
    EXPECT_EQ(threads.prefetch.wall_s, 0.0);  // no such thread exists
    EXPECT_GT(threads.main[Activity::kGather], 0.0);
  }
}

TEST(TimingBreakdown, ShowsForwardAndBackwardPerMicroStep) {
  ActivityTimes times;
  times[Activity::kForward] = 0.8;
  times[Activity::kOptimizer] = 0.2;
  times.synchronize_s = 0.1;
  EXPECT_EQ(DescribeIteration(times, 100, 4),
            "forward 4 x 2.000, optimizer 2.000, sum 10.000, of which 1.000 synchronising");
  EXPECT_EQ(DescribeIteration(times, 100, 1),
            "forward 8.000, optimizer 2.000, sum 10.000, of which 1.000 synchronising");
}

TimeReport Report(double generate, double train, double wait) {
  TimeReport report{.cold_start_s = 1,
                    .generate_critical_s = generate,
                    .train_critical_s = train,
                    .wait_for_rows_s = wait};
  report.threads.generator[Activity::kScramble] = generate;
  report.threads.main[Activity::kForward] = train;
  return report;
}

Config Resolved(const std::vector<std::string>& sets) {
  return ConfigWith(kTimed, sets, *OpenDevice("cpu"));
}

TEST(Bottleneck, NamesTheSlowerSideTheIdealTimeAndTheSetting) {
  const Config config = Resolved({});
  EXPECT_EQ(DescribeBottleneck(Report(30, 20, 11), config, 4),
            "generation is the bottleneck: training waited 11.0 s for rows, and the puzzle's own "
            "code took 100 % of generation's work; the ideal overlap would take 30.0 s of these "
            "31.0 s; raise generate.workers (now 2, of 4 cores)");
  EXPECT_EQ(DescribeBottleneck(Report(10, 20, 0), config, 4),
            "training is the bottleneck: it waited 0 ms for rows, which took 10.0 s to make; the "
            "ideal overlap would take 20.0 s of these 20.0 s; a core was idle: measure numbers of "
            "threads: tandem compare CONFIG --modes async --vary train.threads=1,2,4 (now 2)");
}

TEST(Bottleneck, NamesTheShareOfThePuzzlesOwnCode) {
  TimeReport report = Report(0, 20, 11);
  report.threads.generator[Activity::kScramble] = 5;
  report.threads.generator[Activity::kBackUp] = 10;
  report.threads.workers[Activity::kExpand] = 60;
  report.threads.workers[Activity::kWrite] = 20;
  report.threads.workers[Activity::kBackUp] = 5;
  EXPECT_THAT(DescribeBottleneck(report, Resolved({}), 2),
              HasSubstr("the puzzle's own code took 85 % of generation's work"));
}

// More threads may be slower and fewer may be faster, whatever the figures of one run are.
TEST(Bottleneck, AdvisesToMeasureThreadsWhateverTheirNumber) {
  const Config one = Resolved({"train.threads=1"}), two = Resolved({"train.threads=2"});
  const std::string measure =
      "measure numbers of threads: tandem compare CONFIG --modes async --vary train.threads=1,2 ";
  TimeReport report = Report(10, 20, 0);
  report.wall_s = 20;
  report.main_core_s = 19;
  report.core_s = 22;  // almost a whole core was idle
  EXPECT_THAT(DescribeBottleneck(report, one, 2), EndsWith(measure + "(now 1)"));
  report.core_s = 38;  // none was
  EXPECT_THAT(DescribeBottleneck(report, one, 2), Not(HasSubstr("train.threads")));
  report.main_core_s = 12;
  EXPECT_THAT(DescribeBottleneck(report, two, 2),
              EndsWith("the run's own threads compete for 2 cores: " + measure + "(now 2)"));
  report.core_s = 26;
  EXPECT_THAT(DescribeBottleneck(report, two, 2),
              EndsWith("threads waited for each other or for cores that other programs use (the "
                       "run got 1.3 of 2): " +
                       measure + "(now 2)"));
  EXPECT_THAT(DescribeBottleneck(report, one, 1), EndsWith("give the run more cores"));
  EXPECT_EQ(DescribeCores(report, 2),
            "cores      1.3 of 2 used: 26.0 s of CPU time in 20.0 s; the main thread 60 %");
}

TEST(Bottleneck, NamesWhatTrainingWaitedFor) {
  TimeReport report = Report(0, 20, 0);
  report.wait_for_stored_s = 50;
  EXPECT_THAT(DescribeBottleneck(
                  report, Resolved({"data.source=stream", "generate.target=value_iteration"}), 2),
              StartsWith("generating is the bottleneck: training waited 50.0 s for rows of other "
                         "processes"));
  report = Report(10, 20, 1);
  report.wait_for_disk_s = 5;
  EXPECT_THAT(DescribeBottleneck(report, Resolved({}), 2),
              StartsWith("writing checkpoints is the bottleneck: training waited 5.0 s"));
  report.wait_for_ranks_s = 6;
  EXPECT_THAT(DescribeBottleneck(report, Resolved({}), 2), StartsWith("the exchange between"));
  report = Report(10, 20, 1);
  report.wait_for_ranks_s = 5;
  std::vector<double>& waits =
      report.ranks.emplace(RankReport{.names = {"rank 0", "rank 1"}}).wait_for_ranks_s;
  waits = {5, 0.2};
  EXPECT_THAT(DescribeBottleneck(report, Resolved({}), 2),
              StartsWith("the slowest rank is the bottleneck: rank 1, for which another one waited "
                         "5.0 s"));
  waits = {5, 4.8};
  EXPECT_THAT(DescribeBottleneck(report, Resolved({}), 2),
              StartsWith("the exchange between ranks is the bottleneck"));
  waits = {0.1, 4.8};  // rank 0, which reports, is the slowest
  report.wait_for_ranks_s = 0.1;
  EXPECT_THAT(DescribeBottleneck(report, Resolved({}), 2),
              StartsWith("the slowest rank is the bottleneck: rank 0, "));
}

TEST(Bottleneck, NeedsMoreThanAFewShortWaits) {
  TimeReport report = Report(0.1, 0.4, 0.02);
  EXPECT_THAT(DescribeBottleneck(report, Resolved({}), 2), StartsWith("training is"));
  report.wait_for_rows_s = 0.1;
  EXPECT_THAT(DescribeBottleneck(report, Resolved({}), 2), StartsWith("generation is"));
  EXPECT_EQ(DescribeBottleneck(Report(0.1, 0.02, 0.1), Resolved({}), 2),
            "no bottleneck is known: after the cold start the run took only 120 ms");
}

TEST(Bottleneck, AdvisesAsyncForSequentialRuns) {
  EXPECT_EQ(DescribeBottleneck(Report(10, 20, 11), Resolved({"pipeline.mode=sequential"}), 2),
            "generation (10.0 s) and training (20.0 s) took turns; the ideal overlap would take "
            "20.0 s of these 31.0 s: set pipeline.mode to async");
}

TEST(Bottleneck, AdviceDependsOnTheLongestActivityOfTheSlowerSide) {
  TimeReport evaluating = Report(30, 20, 11);
  evaluating.threads.generator[Activity::kEvaluate] = 40;
  EXPECT_TRUE(DescribeBottleneck(evaluating, Resolved({"inference.threads=1"}), 2)
                  .ends_with("--vary inference.threads=1,2 (now 1)"));
  EXPECT_TRUE(DescribeBottleneck(Report(30, 20, 11), Resolved({}), 2)
                  .ends_with("; make the puzzle's code faster, or lower generate.max_scramble (now "
                             "8)"));
  const std::vector<std::string> games = {"domain.name=tic_tac_toe", "generate.target=self_play",
                                          "network.head=vp", "validation.every_updates=0"};
  EXPECT_TRUE(DescribeBottleneck(Report(30, 20, 11), Resolved(games), 2)
                  .ends_with("; make the game's code faster, or lower generate.simulations (now "
                             "64)"));
  const std::string tensor = "generate.program=tensor";
  EXPECT_TRUE(DescribeBottleneck(Report(30, 20, 11), Resolved({tensor}), 2)
                  .ends_with("raise train.iterations_per_update (now 10) and generate.chunk_rows "
                             "(now 500)"));
  EXPECT_TRUE(DescribeBottleneck(Report(30, 20, 11), Resolved({tensor}), 4)
                  .ends_with("raise generate.workers (now 2, of 4 cores)"));
  EXPECT_TRUE(DescribeBottleneck(Report(30, 20, 11), Resolved({"generate.chunk_rows=4000"}), 2)
                  .ends_with("lower generate.chunk_rows (now 4000), so that every worker gets "
                             "chunks"));
  TimeReport starving = Report(10, 20, 0);
  starving.threads.main[Activity::kWaitForBatch] = 5;
  EXPECT_TRUE(DescribeBottleneck(starving, Resolved({}), 4)
                  .ends_with("it waits for batches: raise prefetch.depth (now 2)"));
  starving.threads.prefetch.wall_s = 20;  // and yet the ring was full
  starving.threads.prefetch[Activity::kWaitForRoom] = 15;
  EXPECT_TRUE(DescribeBottleneck(starving, Resolved({}), 4)
                  .ends_with("--vary train.threads=1,2,4 (now 2)"));
  EXPECT_TRUE(DescribeBottleneck(Report(10, 20, 0), Resolved({"network.width=8"}), 2)
                  .find("lower network.blocks") != std::string::npos);
  TimeReport validating = Report(10, 20, 0);
  validating.threads.main.wall_s = 60;
  validating.threads.main[Activity::kValidation] = 30;
  EXPECT_TRUE(DescribeBottleneck(validating, Resolved({}), 2).find("lower validation.states") !=
              std::string::npos);
  validating.threads.main[Activity::kValidation] = 3;  // more than other work, but little time
  validating.threads.main[Activity::kWaitForDevice] = 50;
  EXPECT_TRUE(DescribeBottleneck(validating, Resolved({}), 2).find("validation.states") ==
              std::string::npos);
}

TEST(Bottleneck, IsAFullGpuIfBatchesWaitForIt) {
  Config config = Resolved({"network.width=1000"});
  config.device = "cuda:0";
  TimeReport report = Report(10, 20, 0);
  report.threads.main[Activity::kWaitForBatch] = 18;
  report.threads.prefetch[Activity::kWaitForDevice] = 17;
  EXPECT_TRUE(DescribeBottleneck(report, config, 2)
                  .ends_with("the GPU is full: lower network.width (now 1000)"));
  report.threads.generator[Activity::kEvaluate] = 9;
  EXPECT_TRUE(DescribeBottleneck(report, config, 2)
                  .ends_with("evaluation and training share a full GPU: try inference.precision: "
                             "fp8 with wide layers, or lower network.width (now 1000)"));
  config.pipeline.mode = Mode::kSequential;
  EXPECT_TRUE(DescribeBottleneck(report, config, 2)
                  .ends_with(", but both sides need the GPU: set pipeline.mode to async"));
}

TEST(Bottleneck, IsTheHandOverOfChunksIfDiskAndCopiesAreIdle) {
  TimeReport report = Report(0, 20, 0);
  report.wall_s = report.threads.main.wall_s = 20;
  report.wait_for_stored_s = 5;
  report.threads.disk[Activity::kDiskLoad] = 18;
  EXPECT_TRUE(DescribeBottleneck(report, Resolved({}), 2).starts_with("reading shards"));
  report.threads.disk[Activity::kDiskLoad] = 2;
  EXPECT_TRUE(DescribeBottleneck(report, Resolved({}), 2).starts_with("handing over chunks"));
}

TEST(Bottleneck, SaysThatNothingWasTrained) {
  EXPECT_EQ(DescribeBottleneck(Report(10, 0, 0), Resolved({}), 2), "nothing was trained");
}

TEST(Bottleneck, SaysThatASingleUpdateHasNoOverlap) {
  EXPECT_EQ(
      DescribeBottleneck(Report(0, 20, 0), Resolved({"train.max_updates=1"}), 4),
      "with a single update there is nothing to overlap: its rows took 1.0 s, training 20.0 s");
}

TEST(TimesOfGpu, CountsOverlappingStreamsOnceInBusyTime) {
  const auto kineto = nlohmann::json::parse(R"({"traceEvents": [
      {"ph": "X", "cat": "kernel", "name": "late", "ts": 9e6, "dur": 1e6, "pid": 0, "tid": 7},
      {"ph": "X", "cat": "kernel", "name": "long", "ts": 1e6, "dur": 4e6, "pid": 0, "tid": 7},
      {"ph": "X", "cat": "gpu_memcpy", "name": "in it", "ts": 2e6, "dur": 1e6, "pid": 0, "tid": 8},
      {"ph": "X", "cat": "gpu_memset", "name": "over it", "ts": 4e6, "dur": 2e6, "pid": 0, "tid": 8},
      {"ph": "X", "cat": "cpu_op", "name": "not there", "ts": 7e6, "dur": 1e6, "pid": 1, "tid": 1},
      {"ph": "M", "name": "process_name"}]})");
  EXPECT_EQ(ToJson(TimesOfGpu(kineto, 10)), nlohmann::ordered_json::parse(R"({
      "traced_s": 10.0, "busy_s": 6.0, "streams": {
          "7": {"kernels_s": 5.0, "copies_s": 0.0, "idle_s": 5.0},
          "8": {"kernels_s": 0.0, "copies_s": 3.0, "idle_s": 7.0}}})"));
  EXPECT_DOUBLE_EQ(TimesOfGpu(nlohmann::json::parse(R"({"traceEvents": []})"), 10).busy_s, 0.0);
}

// The format of LibTorch 2.11: microseconds after a base in nanoseconds since 1970.
TEST(AddKernels, ShiftsStreamsToTheClockOfTheTrace) {
  const auto kineto = nlohmann::json::parse(R"({
    "schemaVersion": 1, "baseTimeNanoseconds": 1790857026000000000, "traceEvents": [
      {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 77, "tid": 77, "ts": 1, "dur": 1},
      {"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 2000000.5, "dur": 3},
      {"ph": "X", "cat": "gpu_memcpy", "name": "HtoD", "pid": 0, "tid": 13, "ts": 2000004, "dur": 2,
       "args": {"bytes": 4096}},
      {"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 2000009, "dur": 3}]})");
  const std::chrono::system_clock::time_point start{std::chrono::seconds(1790857027)};
  Timeline timeline;
  auto trace = ChromeTrace(timeline);
  const std::size_t before = trace["traceEvents"].size();
  AddKernels(kineto, start, trace);
  std::vector<std::string> streams;
  std::vector<double> times;
  for (std::size_t i = before; i < trace["traceEvents"].size(); ++i) {
    const auto& event = trace["traceEvents"][i];
    if (event["name"] == "thread_name") streams.push_back(event["args"]["name"]);
    if (event["ph"] == "X") times.push_back(event["ts"]);
    if (event.contains("args") && event["args"].contains("bytes")) {
      EXPECT_EQ(event["args"]["bytes"], 4096);
      EXPECT_EQ(event["name"], "HtoD");
    }
  }
  EXPECT_EQ(streams, (std::vector<std::string>{"stream 7", "stream 13"}));
  EXPECT_EQ(times, (std::vector<double>{1000000.5, 1000004, 1000009}));
}

}  // namespace
}  // namespace tandem
