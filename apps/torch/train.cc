// tandem train CONFIG
#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "apps/output.h"
#include "apps/torch/progress_display.h"
#include "apps/torch/run_texts.h"
#include "apps/torch_library.h"
#include "base/log.h"
#include "base/signals.h"
#include "base/stopwatch.h"
#include "config/load.h"
#include "config/validate.h"
#include "domain/plugin.h"
#include "nn/device.h"
#include "nn/torch_message.h"
#include "ranks/rank_environment.h"
#include "ranks/ranks.h"
#include "ranks/shared_cores.h"
#include "tandem/error.h"
#include "tandem/registry.h"
#include "train/checkpoint.h"
#include "train/prepare_run.h"
#include "train/rank_plan.h"
#include "train/resolve.h"
#include "train/resume.h"
#include "train/run_directory.h"
#include "train/train_run.h"

namespace tandem {
namespace {

namespace fs = std::filesystem;

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

// Tells the other ranks what to do.
void Send(RankGroup* group, const RankPlan& plan) {
  if (group != nullptr) group->ranks.Broadcast(EncodePlan(plan));
}

// By this text, a launcher remembers that the ranks which it started have begun to train in a
// folder.
std::string NoteOf(const fs::path& folder) {
  return "trains in " + fs::absolute(folder).lexically_normal().string();
}

// Says what a prepared run will do, and tells it to the other ranks.
void Begin(const PreparedRun& prepared, const fs::path& folder, RankGroup* group) {
  Announce(prepared.config, prepared.device->description(), folder);
  if (group != nullptr) group->ranks.Remember(NoteOf(folder));
  Send(group, {.config = prepared.config,
               .checkpoint = prepared.from ? prepared.from->file() : std::string()});
}

int TrainNew(const TrainArgs& args, RankGroup* group) {
  const Stopwatch began;
  const Config asked = LoadConfig(args.config, args.overrides, PathsOf::kNewRun);
  const fs::path folder = args.out.empty() ? NewRunFolder("", args.config) : fs::path(args.out);
  const RunDirectory directory = RunDirectory::Create(folder);
  const StopOnSignals signals(ClosedPipe::kStops);
  try {
    const auto run = MakeNewRun(
        asked, directory,
        {.stop = signals.stop(),
         .began = began,
         .group = group,
         .on_prepared = [&](const PreparedRun& prepared) { Begin(prepared, folder, group); }});
    return Run(*run, folder, signals);
  } catch (const Stopped&) {
    LogWarning("stopped before training began");
    return kSignalBase + signals.caught();
  }
}

int Resume(const TrainArgs& args, RankGroup* group) {
  const Stopwatch began;
  CheckMayChange(args.overrides);
  const RunDirectory directory = RunDirectory::Reopen(args.resume);
  const StopOnSignals signals(ClosedPipe::kStops);
  std::string continuing;
  const auto run = MakeResumedRun(directory, args.overrides,
                                  {.stop = signals.stop(),
                                   .began = began,
                                   .group = group,
                                   .on_prepared = [&](const PreparedRun& prepared) {
                                     Begin(prepared, args.resume, group);
                                     continuing = fmt::format("continuing after update {} of {}",
                                                              prepared.from->Counters().updates,
                                                              *prepared.config.train.max_updates);
                                   }});
  LogInfo(continuing);
  return Run(*run, args.resume, signals);
}

// Whether torchrun started the ranks again after they had begun to train in this folder, and it has
// a checkpoint. If the first start refused the folder, so does each further one.
bool IsRestart(const Ranks& ranks, const fs::path& folder) {
  return ranks.environment().restart > 0 && fs::exists(CheckpointIn(folder)) &&
         ranks.Remembers(NoteOf(folder));
}

// Trains as rank 0, which decides what all ranks do, and writes all files.
int Lead(const TrainArgs& args, const Config& asked, RankGroup& group) {
  const fs::path folder = args.resume.empty() ? args.out : args.resume;
  if (!IsRestart(group.ranks, folder)) {
    return args.resume.empty() ? TrainNew(args, &group) : Resume(args, &group);
  }
  TrainArgs continued = args;
  continued.resume = folder;
  {
    const RunDirectory directory = RunDirectory::Open(folder);
    const auto checkpoint = OpenNewest(
        directory, [](const fs::path& file) { return std::make_unique<Checkpoint>(file); });
    if (args.resume.empty()) {
      continued.overrides.clear();  // they are in the config of the run
      const Config began = checkpoint->ReadConfig();
      CheckConfigStays(began, WithAbsolutePaths(ResolveAutos(asked, *group.device, group.cores)),
                       folder);
    }
    const Config rest = ConfigToResume(directory, *checkpoint, continued.overrides);
    if (IsComplete(rest, checkpoint->Counters(), folder)) {
      Send(&group, {.config = rest, .complete = true});
      LogInfo(fmt::format("{}: the run was complete before the ranks were started again",
                          folder.string()));
      return kDone;
    }
  }
  return Resume(continued, &group);
}

// Trains as another rank, which writes no files.
int Follow(RankGroup& group) {
  const Stopwatch began;
  const RankPlan plan = DecodePlan(group.ranks.Broadcast(""));
  if (plan.complete) return kDone;
  CheckPluginDomain(*MakeDomain(plan.config.domain.full_name()));
  const StopOnSignals signals(ClosedPipe::kStops);
  std::optional<Checkpoint> from;
  if (!plan.checkpoint.empty()) from.emplace(plan.checkpoint);
  Config config = plan.config;
  config.device = group.device->torch().str();
  TrainRun run(config, {.device = group.device,
                        .stop = signals.stop(),
                        .began = began,
                        .from = from ? &*from : nullptr,
                        .ranks = &group.ranks});
  group.ranks.Barrier();
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
    RankGroup group{.ranks = ranks, .device = device, .cores = CoresOfEach(ranks)};
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

int RunTrain(const TrainArgs& args) {
  return WithPlainErrors([&] { return Train(args); });
}

}  // namespace tandem
