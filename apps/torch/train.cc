// tandem train CONFIG
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "apps/output.h"
#include "apps/torch_library.h"
#include "base/log.h"
#include "base/machine.h"
#include "base/signals.h"
#include "base/stopwatch.h"
#include "base/text.h"
#include "config/check_ranks.h"
#include "config/fields.h"
#include "config/load.h"
#include "config/training_phases.h"
#include "config/unused_keys.h"
#include "data/shard_set.h"
#include "data/stream_manifest.h"
#include "domain/plugin.h"
#include "nn/device.h"
#include "nn/torch_message.h"
#include "ranks/rank_environment.h"
#include "ranks/ranks.h"
#include "tandem/error.h"
#include "tandem/registry.h"
#include "train/calibrate.h"
#include "train/checkpoint.h"
#include "train/memory_plan.h"
#include "train/rank_plan.h"
#include "train/rank_times.h"
#include "train/report.h"
#include "train/resolve.h"
#include "train/resume.h"
#include "train/run_directory.h"
#include "train/run_profile.h"
#include "train/train_run.h"

namespace tandem {
namespace {

namespace fs = std::filesystem;

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
  if (network.kind == "mlp") {
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
  const auto rows = static_cast<double>(c.rows_of(0) - c.live_rows_of(0));
  return fmt::format(
      "{}: {} examples, target {}; an update takes {:.3g} epochs of them{}", c.data.path,
      WithThousands(set.examples), set.target, rows / static_cast<double>(set.examples),
      live > 0 ? fmt::format("; {} rows of each batch are generated during the run", live) : "");
}

const char* DescribeHead(Head head) {
  switch (head) {
    case Head::kV:
      return "V net";
    case Head::kQ:
      return "Q net";
    case Head::kPolicy:
      return "policy";
    case Head::kVp:
      return "value and policy net";
    case Head::kQIn:
      return "Q net with the action as input,";
  }
  return "";  // not reached: the compiler warns of a missing case
}

// Logs what the run will do and how much memory it will take, before anything large is allocated.
// Throws InputError if the run would exceed a memory limit.
void Announce(const Config& c, const std::string& device, const fs::path& out) {
  const auto value = [&](std::string_view key) { return ValueText(c, key); };
  const MemoryPlan plan = PlanMemory(c);
  const bool searches = c.generate.searches();
  LogInfo(fmt::format("{}: {} targets{}, {}", MakeDomain(c.domain.full_name())->spec().name,
                      value("generate.target"),
                      searches ? fmt::format(" by {} search", value("generate.search")) : "",
                      value("pipeline.mode")));
  if (LabelsWhenTraining(c.pipeline.mode)) {
    LogInfo("  repeats   not bit for bit: in sync_main the weights depend on timing");
  }
  if (c.streams()) {
    LogInfo("  repeats   not bit for bit: with a stream, timing decides which rows are there");
  }
  LogInfo(fmt::format(
      "  network   {} of {}, {}: {} parameters", DescribeHead(c.network.head),
      DescribeNetwork(c.network),
      c.network.norm == Norm::kNone ? "not normalised" : value("network.norm") + " normalisation",
      WithThousands(plan.parameters)));
  LogInfo(fmt::format("  device    {}: training {} threads {}, generating {} workers", device,
                      *c.train.threads, value("train.precision"), *c.generate.workers));
  LogInfo(fmt::format("  updates   {}{} of {} batches of {} rows",
                      c.train.follows_clock ? "about " : "", *c.train.max_updates,
                      c.train.iterations_per_update, c.train.batch_size));
  LogInfo(fmt::format("  memory    {}", DescribeMemory(plan)));
  if (c.data.source == DataSource::kShards) {
    const ShardSetSpec set = ReadShardSetSpec(c.data.path);
    LogInfo("  data      " + DescribeShards(c, set));
    WarnOfDifferences(set, c);
    WarnOfStrays(c.data.path, set.num_shards());
  }
  if (c.streams()) {
    const std::int64_t live = c.live_part_of(c.train.batch_size);
    LogInfo(fmt::format(
        "  data      from `tandem generate --follow {}`, through {}; {}", out.string(),
        StreamPathOf(out, c).string(),
        live > 0 ? fmt::format("{} rows of each batch are generated by this process", live)
                 : "training waits until the rows of a batch are there"));
  }
  if (HasGrowingTargets(c)) {
    LogInfo(
        "  loss      rises when targets grow, even while the network improves; judge by the share "
        "solved");
  }
  for (std::int64_t phase = 1; phase <= std::ssize(c.phases); ++phase) {
    LogInfo(fmt::format(
        "  phase {}   from {}update {}: {}", phase, c.train.follows_clock ? "about " : "",
        FirstUpdateOfPhase(c, phase, *c.train.max_updates), DescribePhase(c, phase)));
  }
  LogInfo(fmt::format("  folder    {}", out.string()));
  CheckLimitsOfPhases(c);
}

const char* DescribeEnd(RunEnd end) {
  switch (end) {
    case RunEnd::kAllUpdates:
      return "all updates done";
    case RunEnd::kTimeLimit:
      return "the time limit was reached";
    case RunEnd::kStopped:
      return "stopped on request";
  }
  return "";
}

void Report(const RunSummary& summary, const Config& config, const fs::path& out) {
  const double rate = static_cast<double>(summary.examples) / summary.wall_s;
  const std::string loss =
      summary.iterations > 0
          ? fmt::format(", loss {:.4f}{}", summary.final_loss,
                        HasGrowingTargets(config) ? " against growing targets" : "")
          : "";
  LogInfo(fmt::format("{}: {}, {} examples in {} ({} examples/s){}, peak memory {}",
                      DescribeEnd(summary.end), Counted(summary.updates, "update"),
                      WithThousands(summary.examples), HumanSeconds(summary.wall_s),
                      WithThousands(static_cast<long long>(rate)), loss,
                      HumanBytes(static_cast<double>(summary.peak_rss_bytes))));
  for (const std::string& line : DescribeTimes(summary.time.threads)) LogInfo("  " + line);
  LogInfo("  " + DescribeCores(summary.time, NumCores()));
  if (summary.ranks) LogInfo("  " + DescribeRanks(*summary.ranks));
  if (summary.data) {
    for (const std::string& line : DescribeShardReport(*summary.data, config.device)) {
      LogInfo("  " + line);
    }
  }
  if (summary.stream) {
    for (const std::string& line : DescribeStream(*summary.stream, summary.time.wall_s)) {
      LogInfo("  " + line);
    }
  }
  LogInfo(summary.bottleneck);
  if (const FillStats& fill = summary.last_fill; fill.longest_scramble && fill.searches_solved) {
    LogInfo(fmt::format(
        "curriculum: scrambles have up to {} of {} actions; the searches of the last update solve "
        "{:.0f} %",
        *fill.longest_scramble, config.generate.max_scramble, 100 * *fill.searches_solved));
  }
  if (summary.validation) {
    LogInfo(fmt::format("validation: {} {:.1f} % of {}{}; best after update {}",
                        WhatSolves(config.validation), 100 * summary.validation->solve_rate,
                        config.validation.file.empty() ? "fixed scrambles" : config.validation.file,
                        DescribeValueError(summary.validation->value_error, config),
                        summary.best_update));
  }
  if (summary.end == RunEnd::kStopped) {
    LogInfo(fmt::format("next: tandem train --resume {}", out.string()));
  } else {
    LogInfo(fmt::format("next: tandem solve --model {} --states FILE", out.string()));
  }
  LogInfo(summary.learning);
}

constexpr double kTerminalInterval = 0.1;  // seconds
constexpr double kPlainInterval = 10;
constexpr int kNarrowestBar = 5;
constexpr int kWidestBar = 30;

// Returns the share of the run that is done, by iterations or by time, whichever is larger.
double DoneShare(const Progress& progress) {
  const double by_iterations =
      static_cast<double>(progress.iterations_done) / static_cast<double>(progress.iterations);
  const double by_time = progress.max_seconds > 0 ? progress.seconds / progress.max_seconds : 0.0;
  return std::clamp(std::max(by_iterations, by_time), 1e-9, 1.0);
}

std::string DescribeCurriculum(const Progress& progress) {
  if (!progress.longest_scramble || !progress.searches_solved) return "";
  return fmt::format("  scrambles up to {}, searches solve {:.0f} %", *progress.longest_scramble,
                     100 * *progress.searches_solved);
}

// `unit` is the name of the rate: short on a terminal, where a line of 100 columns has room for the
// rest and a bar.
std::string DescribeProgress(const Progress& progress, std::string_view unit) {
  const double done = DoneShare(progress);
  const double rate = static_cast<double>(progress.examples) / progress.seconds;
  return fmt::format(
      "{:3.0f} %{}  {} {}  loss {}{}{}  {} left", 100 * done,
      progress.phase > 0 ? fmt::format("  phase {}", progress.phase) : "",
      WithThousands(static_cast<long long>(rate)), unit,
      progress.loss ? fmt::format("{:.3f}", *progress.loss) : "...", DescribeCurriculum(progress),
      progress.solve_rate ? fmt::format("  solved {:.1f} %", 100 * *progress.solve_rate) : "",
      HumanSeconds(progress.seconds * (1 - done) / done));
}

// Returns how busy the two sides were in the last update: "  gen 12 %  train 98 %". If both are
// below 100 %, they waited for each other or for cores.
std::string DescribeBusyShares(const Progress& progress, const Config& config) {
  if (!progress.busy) return "";
  const std::string generating =
      config.live_rows_of(0) > 0 ? fmt::format("  gen {:.0f} %", 100 * progress.busy->generating)
                                 : "";
  return fmt::format("{}  train {:.0f} %", generating, 100 * progress.busy->training);
}

// `ProgressDisplay` writes the progress of a run to standard error: a bar on a terminal, a line
// every few seconds elsewhere. If the config has `validation.log`, it also logs each validation.
class ProgressDisplay final : public TrainObserver {
 public:
  explicit ProgressDisplay(Config config)
      : terminal_(HasCursor(STDERR_FILENO)), config_(std::move(config)) {}
  ~ProgressDisplay() override { LeaveStatus(); }

  void OnIteration(const Progress& progress) override {
    const double interval = terminal_ ? kTerminalInterval : kPlainInterval;
    const bool last = progress.iterations_done == progress.iterations;
    if (!last && since_shown_.Seconds() < interval) return;
    since_shown_ = Stopwatch();
    Show(progress);
  }

  void OnValidation(std::int64_t updates, const ValidationReport& report) override {
    if (!config_.validation.log) return;
    std::string line = fmt::format("validation after update {}: {:.1f} % solved", updates,
                                   100 * report.solve_rate);
    if (const std::string error = DescribeValueError(report.value_error, config_); !error.empty()) {
      const auto& errors = report.by_length;
      const LengthError& middle = errors[errors.size() / 2];
      line += fmt::format("{}; at length {} {:.2f}, at {} {:.2f}, at {} {:.2f}", error,
                          errors.front().length, errors.front().value_error, middle.length,
                          middle.value_error, errors.back().length, errors.back().value_error);
    }
    LogInfo(line);
  }

 private:
  void Show(const Progress& progress) const {
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

// The ranks with which this process trains, and its device. Null if it trains alone.
struct Group {
  Ranks& ranks;
  std::shared_ptr<Device> device;
};

Ranks* RanksOf(Group* group) { return group != nullptr ? &group->ranks : nullptr; }

int Run(TrainRun& run, const RunDirectory& directory, const StopOnSignals& signals) {
  ProgressDisplay progress(run.config());
  run.AddObserver(progress);
  while (run.RunUpdate()) {
  }
  LeaveStatus();  // the summary starts on a new line
  const RunSummary summary = run.Finish();
  Report(summary, run.phase_config(), directory.path());
  return signals.caught() != 0 ? kSignalBase + signals.caught() : kDone;
}

// The number of processes of the run on this machine, which share its cores.
int ProcessesOnThisMachine(const Group* group) {
  return group != nullptr ? group->ranks.environment().local_world_size : 1;
}

// Replaces every `auto` of a new run. With ranks, nothing is measured.
Config ConfigOfRun(const Config& asked, const std::shared_ptr<Device>& device, Group* group,
                   const Stopwatch& began, const StopSignal& stop) {
  if (group == nullptr) return ReplaceAutos(asked, device, began, stop);
  return ResolveAutos(asked, *device, ProcessesOnThisMachine(group));
}

// Tells the other ranks what to do.
void Send(Group* group, const RankPlan& plan) {
  if (group != nullptr) group->ranks.Broadcast(PlanText(plan));
}

// Waits until all ranks have made their runs, because the run may replace the checkpoint.
void AwaitRanks(Group* group) {
  if (group != nullptr) group->ranks.Barrier();
}

// Does a whole run in a folder that has been claimed for it.
int TrainIn(const RunDirectory& directory, const Config& asked,
            const std::shared_ptr<Device>& device, Group* group, const StopOnSignals& signals,
            const Stopwatch& began) {
  const Config config = ConfigOfRun(asked, device, group, began, signals.stop());
  Announce(config, device->description(), directory.path());
  Send(group, {.config = config});
  TrainRun run(config, device, directory, signals.stop(), began, nullptr, RanksOf(group));
  AwaitRanks(group);
  return Run(run, directory, signals);
}

int TrainNew(const TrainArgs& args, Group* group) {
  const Stopwatch began;
  const Config asked = LoadConfig(args.config, args.overrides);
  CheckPluginDomain(*MakeDomain(asked.domain.full_name()));
  for (const std::string& sentence : DescribeUnusedKeys(asked)) LogWarning(sentence);
  const std::shared_ptr<Device> device =
      group != nullptr ? group->device : OpenDevice(asked.device);
  const RunDirectory directory =
      RunDirectory::Create(args.out.empty() ? NewRunFolder("", args.config) : fs::path(args.out));
  const StopOnSignals signals(ClosedPipe::kStops);
  try {
    return TrainIn(directory, asked, device, group, signals, began);
  } catch (const Stopped&) {
    directory.Abandon();
    LogWarning("stopped before training began");
    return kSignalBase + signals.caught();
  } catch (...) {
    directory.Abandon();  // does nothing if the run has already written files
    throw;
  }
}

// Makes the run that continues from the checkpoint in `file`.
std::unique_ptr<TrainRun> RunFrom(const std::filesystem::path& file, const RunDirectory& directory,
                                  const TrainArgs& args, Group* group, const StopSignal& stop,
                                  const Stopwatch& began) {
  const Checkpoint checkpoint(file);
  const Config asked = ConfigToResume(directory, checkpoint, args.overrides);
  CheckPluginDomain(*MakeDomain(asked.domain.full_name()));
  const RunCounters done = checkpoint.Counters();
  CheckNotComplete(asked, done, directory.path());
  const std::shared_ptr<Device> device =
      group != nullptr ? group->device : OpenDevice(asked.device);
  const Config config = ResolveAutos(asked, *device, ProcessesOnThisMachine(group));
  Announce(config, device->description(), directory.path());
  Send(group, {.config = config, .checkpoint = file});
  auto run = std::make_unique<TrainRun>(config, device, directory, stop, began, &checkpoint,
                                        RanksOf(group));
  AwaitRanks(group);
  LogInfo(fmt::format("continuing after update {} of {}", done.updates, *config.train.max_updates));
  return run;
}

int Resume(const TrainArgs& args, Group* group) {
  const Stopwatch began;
  CheckMayChange(args.overrides);
  const RunDirectory directory = RunDirectory::Reopen(args.resume);
  const StopOnSignals signals(ClosedPipe::kStops);
  const std::unique_ptr<TrainRun> run =
      OpenNewest(directory, [&](const std::filesystem::path& file) {
        return RunFrom(file, directory, args, group, signals.stop(), began);
      });
  return Run(*run, directory, signals);
}

// Whether torchrun started the ranks again after a failure, and the folder has a checkpoint.
bool IsRestart(const RankEnvironment& environment, const fs::path& folder) {
  return environment.restart > 0 && fs::exists(CheckpointIn(folder));
}

// Trains as rank 0, which decides what all ranks do, and writes all files.
int Lead(const TrainArgs& args, const Config& asked, Group& group) {
  const fs::path folder = args.resume.empty() ? args.out : args.resume;
  if (!IsRestart(group.ranks.environment(), folder)) {
    return args.resume.empty() ? TrainNew(args, &group) : Resume(args, &group);
  }
  TrainArgs continued = args;
  continued.resume = folder;
  {
    const auto checkpoint = OpenNewest(RunDirectory::Open(folder), [](const fs::path& file) {
      return std::make_unique<Checkpoint>(file);
    });
    const Config began = ParseConfig(checkpoint->ConfigYaml(), checkpoint->file());
    if (args.resume.empty()) {
      continued.overrides.clear();  // they are in the config of the run
      const int processes = ProcessesOnThisMachine(&group);
      CheckConfigStays(began, WithAbsolutePaths(ResolveAutos(asked, *group.device, processes)),
                       folder);
    }
    if (IsComplete(began, checkpoint->Counters(), folder)) {
      Send(&group, {.config = began, .complete = true});
      LogInfo(fmt::format("{}: the run was complete before the ranks were started again",
                          folder.string()));
      return kDone;
    }
  }
  return Resume(continued, &group);
}

// Trains as another rank, which writes no files.
int Follow(Group& group) {
  const Stopwatch began;
  const RankPlan plan = ParsePlan(group.ranks.Broadcast(""));
  if (plan.complete) return kDone;
  CheckPluginDomain(*MakeDomain(plan.config.domain.full_name()));
  const StopOnSignals signals(ClosedPipe::kStops);
  std::optional<Checkpoint> from;
  if (!plan.checkpoint.empty()) from.emplace(plan.checkpoint);
  Config config = plan.config;
  config.device = group.device->torch().str();
  TrainRun run(config, group.device, std::nullopt, signals.stop(), began, from ? &*from : nullptr,
               &group.ranks);
  group.ranks.Barrier();
  from.reset();
  while (run.RunUpdate()) {
  }
  run.Finish();
  return signals.caught() != 0 ? kSignalBase + signals.caught() : kDone;
}

// The config that all ranks read, so that all of them report what is wrong with it.
Config ReadConfig(const TrainArgs& args) {
  if (args.resume.empty()) return LoadConfig(args.config, args.overrides);
  return OpenNewest(RunDirectory::Open(args.resume), [&](const fs::path& file) {
    return ParseConfig(Checkpoint(file).ConfigYaml(), file.string(), args.overrides);
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
  const std::shared_ptr<Device> device = OpenDeviceOfRank(asked.device, environment);
  Ranks ranks(environment);
  try {
    ranks.UseDevice(*device);
    Group group{.ranks = ranks, .device = device};
    return environment.rank == 0 ? Lead(args, asked, group) : Follow(group);
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
  if (!environment) return args.resume.empty() ? TrainNew(args, nullptr) : Resume(args, nullptr);
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
}  // namespace tandem

extern "C" int tandem::tandem_run_train(const TrainArgs& args) {
  return WithPlainErrors([&] { return Train(args); });
}
