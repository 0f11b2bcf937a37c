// tandem train CONFIG
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "apps/output.h"
#include "apps/torch/run_texts.h"
#include "apps/torch_library.h"
#include "base/log.h"
#include "base/machine.h"
#include "base/stop_signal.h"
#include "base/stopwatch.h"
#include "base/text.h"
#include "config/config.h"
#include "config/load.h"
#include "config/validate.h"
#include "domain/registry.h"
#include "nn/device.h"
#include "nn/torch_message.h"
#include "ranks/membership.h"
#include "ranks/ranks.h"
#include "tandem/error.h"
#include "tandem/registry.h"
#include "train/checkpoint.h"
#include "train/prepare_run.h"
#include "train/report.h"
#include "train/resolve.h"
#include "train/run_directory.h"
#include "train/train_run.h"

namespace tandem {
namespace {

namespace fs = std::filesystem;

/// ProgressDisplay writes the progress of a run to standard error: a bar on a terminal, a line
/// every few seconds elsewhere.
class ProgressDisplay final : public TrainObserver {
 public:
  explicit ProgressDisplay(Config config);
  ~ProgressDisplay() override;
  ProgressDisplay(const ProgressDisplay&) = delete;
  ProgressDisplay& operator=(const ProgressDisplay&) = delete;

  void OnIteration(const TrainingProgress& progress) override;

 private:
  void Show(const TrainingProgress& progress) const;

  const bool terminal_;
  const Config config_;
  Stopwatch since_shown_;
};

constexpr double kTerminalInterval = 0.1;  // seconds
constexpr double kPlainInterval = 10;
constexpr int kNarrowestBar = 5;
constexpr int kWidestBar = 30;

// Returns the share of the run that is done, by iterations or by time, whichever is larger.
double DoneShare(const TrainingProgress& progress) {
  const double by_iterations =
      static_cast<double>(progress.iterations) / static_cast<double>(progress.planned_iterations);
  const double by_time = progress.max_seconds > 0 ? progress.seconds / progress.max_seconds : 0.0;
  return std::clamp(std::max(by_iterations, by_time), 1e-9, 1.0);
}

std::string DescribeCurriculum(const TrainingProgress& progress) {
  if (!progress.longest_scramble || !progress.searches_solved) return "";
  return fmt::format("  scrambles up to {}, searches solve {:.0f} %", *progress.longest_scramble,
                     100 * *progress.searches_solved);
}

// `unit` is the name of the rate: short on a terminal, where a line of 100 columns has room for the
// rest and a bar.
std::string DescribeProgress(const TrainingProgress& progress, std::string_view unit) {
  const double done = DoneShare(progress);
  const double rate = static_cast<double>(progress.examples) / progress.seconds;
  return fmt::format(
      "{:3.0f} %  {} {}  loss {}{}{}  {} left", 100 * done,
      WithThousands(static_cast<long long>(rate)), unit,
      progress.loss ? fmt::format("{:.3f}", *progress.loss) : "...", DescribeCurriculum(progress),
      progress.solve_rate ? fmt::format("  solved {:.1f} %", 100 * *progress.solve_rate) : "",
      HumanSeconds(progress.seconds * (1 - done) / done));
}

// Returns how busy the two sides were in the last update: "  gen 12 %  train 98 %". If both are
// below 100 %, they waited for each other or for cores.
std::string DescribeBusyShares(const TrainingProgress& progress, const Config& config) {
  if (!progress.busy) return "";
  const std::string generating =
      config.live_rows() > 0 ? fmt::format("  gen {:.0f} %", 100 * progress.busy->generating) : "";
  return fmt::format("{}  train {:.0f} %", generating, 100 * progress.busy->training);
}

ProgressDisplay::ProgressDisplay(Config config)
    : terminal_(HasCursor(STDERR_FILENO)), config_(std::move(config)) {}

ProgressDisplay::~ProgressDisplay() { LeaveStatus(); }

void ProgressDisplay::OnIteration(const TrainingProgress& progress) {
  const double interval = terminal_ ? kTerminalInterval : kPlainInterval;
  const bool last = progress.iterations == progress.planned_iterations;
  if (!last && since_shown_.Seconds() < interval) return;
  since_shown_ = Stopwatch();
  Show(progress);
}

void ProgressDisplay::Show(const TrainingProgress& progress) const {
  std::string text = DescribeProgress(progress, terminal_ ? "ex/s" : "examples/s");
  const std::string busy = DescribeBusyShares(progress, config_);
  if (!terminal_) {
    std::fputs((text + busy + "\n").c_str(), stderr);
    return;
  }
  // Leave the last column free, because terminals wrap after it.
  const int columns = TerminalWidth(STDERR_FILENO) - 1;
  const auto width_beside = [&](const std::string& words) {
    return columns - static_cast<int>(words.size()) - 3;
  };
  if (width_beside(text + busy) >= kNarrowestBar) text += busy;
  const int width = std::clamp(width_beside(text), 0, kWidestBar);
  const int filled = static_cast<int>(width * DoneShare(progress));
  const std::string line =
      fmt::format("[{}{}] {}", std::string(filled, '#'), std::string(width - filled, '-'), text);
  ShowStatus(fmt::format("{:.{}}", line, columns));
}

// `folder` is the folder of the run, as the user named it.
int Run(TrainRun& run, const fs::path& folder, const StopOnSignals& signals) {
  ProgressDisplay progress(run.config());
  run.AddObserver(progress);
  RunSummary summary;
  try {
    while (run.RunUpdate()) {
    }
    LeaveStatus();  // the summary starts on a new line
    summary = run.Finish();
  } catch (...) {
    LeaveStatus();
    ReportFailure(folder);
    throw;
  }
  Report(summary, run.config(), folder);
  if (signals.caught() != 0) return kSignalBase + signals.caught();
  return summary.iterations > 0 ? kDone : kFailed;
}

// By this text, a launcher remembers that the ranks which it started have begun to train in a
// folder.
std::string NoteOf(const fs::path& folder) {
  return "trains in " + fs::absolute(folder).lexically_normal().string();
}

// Returns a function that says what a prepared run will do, and tells it to the other ranks.
OnPrepared Begin(const fs::path& folder) {
  return [folder](const Config& config, const RunOptions& options) {
    Announce(config, options.device->description(), folder);
    if (options.ranks == nullptr) return;
    options.ranks->Remember(NoteOf(folder));
    options.ranks->Broadcast(EncodePlan(
        {.config = config, .checkpoint = options.from != nullptr ? options.from->file() : ""}));
  };
}

int TrainNew(const TrainArgs& args, RunOptions options, const StopOnSignals& signals) {
  const Config asked = LoadConfig(args.config, args.overrides, PathsOf::kNewRun);
  const fs::path folder = args.out.empty() ? NewRunFolder("", args.config) : fs::path(args.out);
  options.directory = RunDirectory::Create(folder);
  try {
    const auto run = MakeNewRun(asked, options, Begin(folder));
    return Run(*run, folder, signals);
  } catch (const Stopped&) {
    LogWarning("stopped before training began");
    return kSignalBase + signals.caught();
  }
}

int Resume(const TrainArgs& args, RunOptions options, const StopOnSignals& signals) {
  CheckMayChange(args.overrides);
  options.directory = RunDirectory::Reopen(args.resume);
  const auto run = MakeResumedRun(args.overrides, options, Begin(args.resume));
  LogInfo(fmt::format("continuing after update {} of {}", run->progress().updates,
                      *run->config().train.max_updates));
  return Run(*run, args.resume, signals);
}

int TrainOrResume(const TrainArgs& args, const RunOptions& options, const StopOnSignals& signals) {
  return args.resume.empty() ? TrainNew(args, options, signals) : Resume(args, options, signals);
}

// Whether torchrun started the ranks again after they had begun to train in this folder, and it has
// a checkpoint. If the first start refused the folder, so does each further one.
bool IsRestart(const Ranks& ranks, const fs::path& folder) {
  return ranks.environment().restart > 0 && fs::exists(CheckpointIn(folder)) &&
         ranks.Remembers(NoteOf(folder));
}

// Trains as rank 0, which decides what all ranks do, and writes all files.
int Lead(const TrainArgs& args, const Config& asked, const RunOptions& options,
         const StopOnSignals& signals) {
  const fs::path folder = args.resume.empty() ? args.out : args.resume;
  if (!IsRestart(*options.ranks, folder)) return TrainOrResume(args, options, signals);
  TrainArgs continued = args;
  continued.resume = folder;
  {
    const RunDirectory directory = RunDirectory::Open(folder);
    const auto checkpoint = OpenNewest(
        directory, [](const fs::path& file) { return std::make_unique<Checkpoint>(file); });
    if (args.resume.empty()) {
      continued.overrides.clear();  // they are in the config of the run
      const Config began = checkpoint->ReadConfig();
      CheckConfigStays(
          began, WithAbsolutePaths(ResolveAutos(asked, *options.device, options.cores)), folder);
    }
    const Config rest = ConfigToResume(directory, *checkpoint, continued.overrides);
    if (IsComplete(rest, checkpoint->Counters(), folder)) {
      options.ranks->Broadcast(EncodePlan({.config = rest, .complete = true}));
      LogInfo(fmt::format("{}: the run was complete before the ranks were started again",
                          folder.string()));
      return kDone;
    }
  }
  return Resume(continued, options, signals);
}

// Trains as another rank, which writes no files.
int Follow(RunOptions options, const StopOnSignals& signals) {
  const RankPlan plan = DecodePlan(options.ranks->Broadcast(""));
  if (plan.complete) return kDone;
  CheckPluginDomain(*MakeDomain(plan.config.domain.full_name()));
  std::optional<Checkpoint> from;
  if (!plan.checkpoint.empty()) options.from = &from.emplace(plan.checkpoint);
  Config config = plan.config;
  config.device = options.device->torch().str();
  TrainRun run(config, options);
  options.ranks->Barrier();
  from.reset();
  while (run.RunUpdate()) {
  }
  run.Finish();
  return signals.caught() != 0 ? kSignalBase + signals.caught() : kDone;
}

// The config that all ranks read, so that all of them report what is wrong with it.
Config ReadConfig(const TrainArgs& args) {
  if (args.resume.empty()) {
    RequireNoPipe(args.config);  // each rank reads it, and rank 0 twice
    return LoadConfig(args.config, args.overrides);
  }
  const RunDirectory directory = RunDirectory::Open(args.resume);
  directory.RequireCheckpoint();
  return OpenNewest(
      directory, [&](const fs::path& file) { return Checkpoint(file).ReadConfig(args.overrides); });
}

int TrainAsRank(const TrainArgs& args, const RankEnvironment& environment) {
  if (environment.rank > 0) LogWarningsOnly(fmt::format("rank {}: ", environment.rank));
  const Config asked = ReadConfig(args);
  CheckRanks(asked);
  if (environment.max_restarts > 0 && args.resume.empty() && args.out.empty()) {
    throw InputError(
        "torchrun may start the ranks again (--max-restarts), but the folder of the run has a new "
        "name each time. Give `tandem train` the folder with --out DIR");
  }
  const std::shared_ptr<Device> device = OpenDeviceOfRank(asked.device, environment.local_rank);
  Ranks ranks(environment);
  try {
    ranks.UseDevice(*device);
    const int cores = CoresOfEach(ranks);
    const StopOnSignals signals(ClosedPipe::kStops);
    const RunOptions options{
        .device = device, .stop = signals.stop(), .ranks = &ranks, .cores = cores};
    return environment.rank == 0 ? Lead(args, asked, options, signals) : Follow(options, signals);
  } catch (const c10::Error& error) {
    ranks.ReportFailure(MessageFor(error));
    throw;
  } catch (const std::exception& error) {
    ranks.ReportFailure(error.what());
    throw;
  }
}

int Train(const TrainArgs& args) {
  const std::optional<RankEnvironment> environment = ReadRankEnvironment();
  if (!environment) {
    const StopOnSignals signals(ClosedPipe::kStops);
    return TrainOrResume(args, {.stop = signals.stop()}, signals);
  }
  if (environment->rank == 0) return TrainAsRank(args, *environment);
  const auto named = [&](const std::exception& error) {
    return fmt::format("rank {}: {}", environment->rank, error.what());
  };
  try {
    return WithPlainErrors([&] { return TrainAsRank(args, *environment); });
  } catch (const InputError& error) {
    throw InputError(named(error));
  } catch (const Error& error) {
    throw Error(named(error));
  }
}

}  // namespace

int RunTrain(const TrainArgs& args) {
  return WithPlainErrors([&] { return Train(args); });
}

}  // namespace tandem
