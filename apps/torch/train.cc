// tandem train CONFIG
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "apps/output.h"
#include "apps/torch_library.h"
#include "base/log.h"
#include "base/machine.h"
#include "base/stop_signal.h"
#include "base/stopwatch.h"
#include "base/text.h"
#include "config/config.h"
#include "config/fields.h"
#include "config/load.h"
#include "data/run_files.h"
#include "data/shard_set.h"
#include "data/stream_folder.h"
#include "domain/registry.h"
#include "nn/device.h"
#include "nn/network.h"
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
#include "train/run_profile.h"
#include "train/train_run.h"

namespace tandem {
namespace {

namespace fs = std::filesystem;

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

// ProgressDisplay writes the progress of a run to standard error: a bar on a terminal, a line every
// few seconds elsewhere.
class ProgressDisplay {
 public:
  explicit ProgressDisplay(Config config)
      : terminal_(HasCursor(STDERR_FILENO)), config_(std::move(config)) {}
  ~ProgressDisplay() { LeaveStatus(); }
  ProgressDisplay(const ProgressDisplay&) = delete;
  ProgressDisplay& operator=(const ProgressDisplay&) = delete;

  void OnIteration(const TrainingProgress& progress) {
    const double interval = terminal_ ? kTerminalInterval : kPlainInterval;
    const bool last = progress.iterations == progress.planned_iterations;
    if (!last && since_shown_.Seconds() < interval) return;
    since_shown_ = Stopwatch();
    Show(progress);
  }

 private:
  void Show(const TrainingProgress& progress) const {
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

  const bool terminal_;
  const Config config_;
  Stopwatch since_shown_;
};

// Describes the layers of a network before its output layer. Programs may add kinds of networks;
// only the name of such a kind is known.
std::string DescribeNetwork(const NetworkConfig& network) {
  const bool has_stem = network.stem_width > 0;
  const std::string widths = has_stem ? fmt::format("{}-{}", network.stem_width, network.width)
                                      : std::to_string(network.width);
  const std::string blocks = Counted(network.blocks, "residual block");
  if (network.kind == kResNetFc) return fmt::format("{}, {}", widths, blocks);
  if (network.kind == kResNet2d) {
    return fmt::format("{}, {}, and a layer of {}", Counted(network.channels, "channel"), blocks,
                       network.width);
  }
  if (network.kind == kMlp) {
    const std::int64_t layers = (has_stem ? 2 : 1) + network.blocks;
    return fmt::format("{}, {}", widths, Counted(layers, "hidden layer"));
  }
  return fmt::format("kind {}", network.kind);
}

// Warns if the labels of the shards are not those that the config asks for, or if rows generated
// during the run would differ from the rows of the shards.
void WarnOfDifferences(const ShardSetSpec& set, const Config& c) {
  const bool mixed = c.live_part_of(c.train.batch_size) > 0;
  const std::string target = ValueText(c, "generate.target");
  if (set.target != target) {
    LogWarning(fmt::format(
        "the shards were labelled with target {}, but generate.target is {}{}", set.target, target,
        mixed ? "; the labels of a batch will differ in meaning" : ", which is not used"));
  }
  for (const auto& [key, value] : set.provenance) {
    if (!mixed || !key.starts_with("generate.")) continue;
    const std::string own = FindValueText(c, key).value_or("unknown");  // another version's key
    if (own == value) continue;
    LogWarning(
        fmt::format("{} is {} for the shards and {} for the rows that are generated during the run",
                    key, value, own));
  }
}

std::string DescribeShards(const Config& c, const ShardSetSpec& set) {
  const std::int64_t live = c.live_part_of(c.train.batch_size);
  const auto rows = static_cast<double>(c.rows_per_update() - c.live_rows());
  return fmt::format(
      "{}: {} examples, target {}; an update takes {:.3g} epochs of them{}", c.data.path,
      WithThousands(set.examples), set.target, rows / static_cast<double>(set.examples),
      live > 0 ? fmt::format("; {} rows of each batch are generated during the run", live) : "");
}

void AdviseToResume(const fs::path& out) {
  LogNextCommand(fmt::format("train --resume {}", ShellWord(out.string())));
}

// By RunEnd.
constexpr std::array kEnds = {"all updates done", "the time limit was reached",
                              "stopped on request"};

// Says which examples the run learns from, and whether it would repeat.
void AnnounceTask(const Config& c) {
  const std::string search =
      c.generate.searches() ? fmt::format(" by {} search", ValueText(c, "generate.search")) : "";
  LogInfo(fmt::format("{}: {} targets{}, {}", MakeDomain(c.domain.full_name())->spec().name,
                      ValueText(c, "generate.target"), search, ValueText(c, "pipeline.mode")));
  if (LabelsWhenTraining(c.pipeline.mode)) {
    LogInfo("  repeats   not bit for bit: in sync_main the weights depend on timing");
  }
  if (c.streams()) {
    LogInfo("  repeats   not bit for bit: with a stream, timing decides which rows are there");
  }
}

void AnnounceNetwork(const Config& c, std::int64_t parameters) {
  const std::string norm = c.network.norm == Norm::kNone
                               ? "not normalised"
                               : ValueText(c, "network.norm") + " normalisation";
  LogInfo(fmt::format("  network   {} of {}, {}: {} parameters", TraitsOf(c.network.head).network,
                      DescribeNetwork(c.network), norm, WithThousands(parameters)));
}

// Says where rows that are not generated by this process come from.
void AnnounceData(const Config& c, const fs::path& out) {
  if (c.data.source == DataSource::kShards) {
    const ShardSetSpec set = ReadShardSetSpec(c.data.path);
    LogInfo("  data      " + DescribeShards(c, set));
    WarnOfDifferences(set, c);
    WarnOfStrays(c.data.path, set.num_shards());
  }
  if (!c.streams()) return;
  const std::int64_t live = c.live_part_of(c.train.batch_size);
  LogInfo(fmt::format("  data      from `tandem generate --follow {}`, through {}; {}",
                      ShellWord(out.string()), StreamPathOf(out, c).string(),
                      live > 0
                          ? fmt::format("{} rows of each batch are generated by this process", live)
                          : "training waits until the rows of a batch are there"));
}

// Says why the run ended and how much it did.
void ReportEnd(const RunSummary& summary, const Config& config) {
  const double rate = static_cast<double>(summary.examples) / summary.wall_s;
  const std::string loss =
      summary.iterations > 0
          ? fmt::format(", loss {:.4f}{}", summary.final_loss,
                        HasGrowingTargets(config) ? " against growing targets" : "")
          : "";
  LogInfo(fmt::format("{}: {}, {} examples in {} ({} examples/s){}, peak memory {}",
                      kEnds.at(static_cast<std::size_t>(summary.end)),
                      Counted(summary.updates, "update"), WithThousands(summary.examples),
                      HumanSeconds(summary.wall_s), WithThousands(static_cast<long long>(rate)),
                      loss, HumanBytes(static_cast<double>(summary.peak_rss_bytes))));
}

// Says where the time went and what would make the run faster.
void ReportTimes(const RunSummary& summary) {
  std::vector<std::string> lines = DescribeTimes(summary.time.threads);
  lines.push_back(DescribeCores(summary.time, summary.cores));
  lines.insert(lines.end(), summary.lines.begin(), summary.lines.end());
  if (summary.since_update > 0) {
    LogInfo(fmt::format("  since --resume, after update {}:", summary.since_update));
  }
  for (const std::string& line : lines) LogInfo("  " + line);
  LogInfo(summary.bottleneck);
}

void ReportCurriculum(const FillStats& fill, const Config& config) {
  if (!fill.longest_scramble || !fill.searches_solved) return;
  LogInfo(fmt::format(
      "curriculum: scrambles have up to {} of {} actions; the searches of the last update solve "
      "{:.0f} %",
      *fill.longest_scramble, config.generate.max_scramble, 100 * *fill.searches_solved));
}

void ReportValidation(const RunSummary& summary, const Config& config) {
  if (!summary.validation) return;
  LogInfo(fmt::format("validation: {} {:.1f} % of {}{}; best after update {}",
                      WhatSolves(config.validation), 100 * summary.validation->solve_rate,
                      config.validation.file.empty() ? "fixed scrambles" : config.validation.file,
                      DescribeValueError(summary.validation->value_error, config),
                      summary.best_update));
}

// Logs what a run in the folder `out` will do. Warns if its shards do not match the config.
void Announce(const TrainRun& run, const fs::path& out) {
  const Config& c = run.config();
  const std::string_view about = c.train.follows_clock ? "about " : "";
  AnnounceTask(c);
  AnnounceNetwork(c, run.num_parameters());
  LogInfo(fmt::format("  device    {}: training {} {}, generating {}", run.device().description(),
                      Counted(*c.train.threads, "thread"), ValueText(c, "train.precision"),
                      Counted(*c.generate.workers, "worker")));
  LogInfo(fmt::format("  updates   {}{} of {} batches of {} rows", about, *c.train.max_updates,
                      c.train.iterations_per_update, c.train.batch_size));
  AnnounceData(c, out);
  if (HasGrowingTargets(c)) {
    LogInfo(
        "  loss      rises when targets grow, even while the network improves; judge by the share "
        "solved");
  }
  LogInfo(fmt::format("  folder    {}", out.string()));
}

// Logs what the run in the folder `out` has done, and what to do next.
void Report(const RunSummary& summary, const Config& config, const fs::path& out) {
  ReportEnd(summary, config);
  if (summary.iterations == 0 && summary.end == RunEnd::kTimeLimit) {
    LogInfo(
        fmt::format("nothing was trained: the time limit came before the first iteration; raise "
                    "train.max_seconds (now {}){}",
                    config.train.max_seconds,
                    config.streams() && config.data.live_share == 0
                        ? fmt::format(", and run generators: tandem generate --follow {}",
                                      ShellWord(out.string()))
                        : ""));
    return;
  }
  if (const std::string cut = DescribeSchedule(summary, config); !cut.empty()) LogWarning(cut);
  ReportTimes(summary);
  ReportCurriculum(summary.last_fill, config);
  ReportValidation(summary, config);
  if (summary.end == RunEnd::kStopped) {
    if (summary.iterations > summary.updates * config.train.iterations_per_update) {
      LogInfo("the update that was stopped begins again when the run is resumed");
    }
    AdviseToResume(out);
  } else {
    LogNextCommand(fmt::format("solve --model {} --states FILE", ShellWord(out.string())));
  }
  LogInfo(summary.learning);
}

// `folder` is the folder of the run, as the user named it.
int Run(TrainRun& run, const fs::path& folder, const StopOnSignals& signals) {
  ProgressDisplay progress(run.config());
  run.ObserveIterations([&](const TrainingProgress& now) { progress.OnIteration(now); });
  RunSummary summary;
  try {
    while (run.RunUpdate()) {
    }
    LeaveStatus();  // the summary starts on a new line
    summary = run.Finish();
  } catch (...) {
    LeaveStatus();
    std::error_code ignored;
    if (fs::exists(folder / kCheckpointFile, ignored)) AdviseToResume(folder);
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

// Returns a function that tells the other ranks to make a prepared run.
OnPrepared TellRanks(const fs::path& folder) {
  return [folder](const Config& config, const RunOptions& options) {
    if (options.ranks == nullptr) return;
    options.ranks->Remember(NoteOf(folder));
    options.ranks->Broadcast(EncodePlan(
        {.config = config, .checkpoint = options.from != nullptr ? options.from->file() : ""}));
  };
}

int TrainNew(const TrainArgs& args, RunOptions options) {
  const Config asked = LoadConfig(args.config, args.overrides, PathsOf::kNewRun);
  const fs::path folder = args.out.empty() ? NewRunFolder("", args.config) : fs::path(args.out);
  options.directory = RunDirectory::Create(folder);
  const StopOnSignals signals(ClosedPipe::kStops);
  options.stop = signals.stop();
  try {
    const auto run = MakeNewRun(asked, options, TellRanks(folder));
    Announce(*run, folder);
    return Run(*run, folder, signals);
  } catch (const Stopped&) {
    LogWarning("stopped before training began");
    return kSignalBase + signals.caught();
  }
}

int Resume(const TrainArgs& args, RunOptions options) {
  CheckMayChange(args.overrides);
  options.directory = RunDirectory::Reopen(args.resume);
  const StopOnSignals signals(ClosedPipe::kStops);
  options.stop = signals.stop();
  const auto run = MakeResumedRun(args.overrides, options, TellRanks(args.resume));
  Announce(*run, args.resume);
  LogInfo(fmt::format("continuing after update {} of {}", run->progress().updates,
                      *run->config().train.max_updates));
  return Run(*run, args.resume, signals);
}

int TrainOrResume(const TrainArgs& args, const RunOptions& options) {
  return args.resume.empty() ? TrainNew(args, options) : Resume(args, options);
}

// Whether torchrun started the ranks again after they had begun to train in this folder, and it has
// a checkpoint. If the first start refused the folder, so does each further one.
bool IsRestart(const Ranks& ranks, const fs::path& folder) {
  return ranks.environment().restart > 0 && RunDirectory::HasCheckpoint(folder) &&
         ranks.Remembers(NoteOf(folder));
}

// Trains as rank 0, which decides what all ranks do, and writes all files.
int Lead(const TrainArgs& args, const Config& asked, const RunOptions& options) {
  const fs::path folder = args.resume.empty() ? args.out : args.resume;
  if (!IsRestart(*options.ranks, folder)) return TrainOrResume(args, options);
  TrainArgs continued = args;
  continued.resume = folder;
  {
    const RunDirectory directory = RunDirectory::Open(folder);
    const auto checkpoint = OpenNewest(
        directory, [](const fs::path& file) { return std::make_unique<Checkpoint>(file); });
    if (args.resume.empty()) {
      continued.overrides.clear();  // they are in the config of the run
      const Config began = checkpoint->ReadConfig();
      CheckConfigStays(began,
                       WithAbsolutePaths(ResolveAutos(asked, *options.device, options.cores)),
                       "the config of the command line");
    }
    const Config rest = ConfigToResume(directory, *checkpoint, continued.overrides);
    if (IsComplete(rest, checkpoint->Counters(), folder)) {
      options.ranks->Broadcast(EncodePlan({.config = rest, .complete = true}));
      LogInfo(fmt::format("{}: the run was complete before the ranks were started again",
                          folder.string()));
      return kDone;
    }
  }
  return Resume(continued, options);
}

// Trains as another rank, which writes no files.
int Follow(RunOptions options) {
  const RankPlan plan = DecodePlan(options.ranks->Broadcast(""));
  if (plan.complete) return kDone;
  CheckPluginDomain(*MakeDomain(plan.config.domain.full_name()));
  const StopOnSignals signals(ClosedPipe::kStops);
  options.stop = signals.stop();
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
  CheckMayChange(args.overrides);
  const RunDirectory directory = RunDirectory::Open(args.resume);
  directory.RequireCheckpoint();
  return OpenNewest(directory, [&](const fs::path& file) {
    return ConfigToResume(directory, Checkpoint(file), args.overrides);
  });
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
  const std::shared_ptr<Device> device = OpenDevice(asked.device, environment.local_rank);
  Ranks ranks(environment);
  try {
    ranks.UseDevice(*device);
    const StopSignal never;  // until signals are caught
    const RunOptions options{
        .device = device, .stop = never, .ranks = &ranks, .cores = CoresOfEach(ranks)};
    return environment.rank == 0 ? Lead(args, asked, options) : Follow(options);
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
    const StopSignal never;  // until signals are caught
    return TrainOrResume(args, {.stop = never});
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
