// tandem train CONFIG
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <thread>

#include "apps/commands.h"
#include "apps/plain_errors.h"
#include "apps/progress.h"
#include "apps/run_folder.h"
#include "apps/signals.h"
#include "base/log.h"
#include "base/text.h"
#include "config/fields.h"
#include "run/bottleneck.h"
#include "run/calibrate.h"
#include "run/memory_plan.h"
#include "run/resolve.h"
#include "run/train_run.h"
#include "shards/shard_set.h"
#include "tandem/error.h"
#include "tandem/registry.h"

namespace tandem {
namespace {

namespace fs = std::filesystem;

std::string DescribeNetwork(const NetworkConfig& network) {
  std::string widths = std::to_string(network.width);
  if (network.stem_width > 0) widths = fmt::format("{}-{}", network.stem_width, widths);
  return fmt::format("{}, {}", widths, Counted(network.blocks, "residual block"));
}

// Labels that are not what the config asks for, and rows unlike those that are generated meanwhile.
void WarnOfDifferences(const ShardSetSpec& set, const TrainConfig& c) {
  const bool mixed = c.live_part_of(c.train.batch_size) > 0;
  const std::string target = ValueText(c, "generate.target");
  if (set.target != target) {
    LogWarning(fmt::format("the target of the shards is {}, and generate.target is {}{}",
                           set.target, target,
                           mixed ? ": the labels differ" : ", which is unused"));
  }
  for (const auto& [key, value] : set.made_by) {
    if (!mixed || !key.starts_with("generate.") || ValueText(c, key) == value) continue;
    LogWarning(fmt::format("{} is {} for the shards and {} for what is generated meanwhile", key,
                           value, ValueText(c, key)));
  }
}

std::string DescribeShards(const TrainConfig& c, const ShardSetSpec& set) {
  const std::int64_t live = c.live_part_of(c.train.batch_size);
  const double rows = static_cast<double>(c.rows_of(0) - c.live_rows_of(0));
  return fmt::format(
      "{}: {} examples, target {}; an update takes {:.3g} epochs of them{}", c.data.path,
      WithThousands(set.examples), set.target, rows / static_cast<double>(set.examples),
      live > 0 ? fmt::format("; of each batch {} rows are generated meanwhile", live) : "");
}

// Before anything large is allocated.
void Announce(const TrainConfig& c, const std::string& device, const fs::path& out) {
  const auto value = [&](std::string_view key) { return ValueText(c, key); };
  const MemoryPlan plan = PlanMemory(c);
  const bool searches = c.generate.search != GenerateSearch::kNone;
  LogInfo(fmt::format("{}: {} targets{}, {}", MakeDomain(c.domain.full_name())->spec().name,
                      value("generate.target"),
                      searches ? fmt::format(" by {} search", value("generate.search")) : "",
                      value("pipeline.mode")));
  if (c.pipeline.mode == Mode::kSyncMain) {
    LogInfo("  repeats   not bit for bit: in sync_main the weights depend on timing");
  }
  LogInfo(fmt::format(
      "  network   {} net of {}, {}: {} parameters", c.network.head == Head::kV ? "V" : "Q",
      DescribeNetwork(c.network),
      c.network.norm == Norm::kNone ? "not normalised" : value("network.norm") + " normalisation",
      WithThousands(plan.parameters)));
  LogInfo(fmt::format("  device    {}: training {} threads {}, generating {} workers", device,
                      *c.train.threads, value("train.precision"), *c.generate.workers));
  LogInfo(fmt::format("  updates   {} of {} batches of {} rows", *c.train.max_updates,
                      c.train.iterations_per_update, c.train.batch_size));
  LogInfo(fmt::format("  memory    {}", Describe(plan)));
  if (c.data.source == DataSource::kShards) {
    const ShardSetSpec set = ReadShardSetSpec(c.data.path);
    LogInfo("  data      " + DescribeShards(c, set));
    WarnOfDifferences(set, c);
    for (const fs::path& stray : StrayFiles(c.data.path, set.num_shards())) {
      LogWarning(DescribeStray(stray, set.num_shards()));
    }
  }
  LogInfo(fmt::format("  folder    {}", out.string()));
  CheckLimits(plan, c);
}

const char* Describe(RunEnd end) {
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

void Report(const RunSummary& summary, const TrainConfig& config, const fs::path& out) {
  const double rate = static_cast<double>(summary.examples) / summary.wall_s;
  LogInfo(fmt::format("{}: {}, {} examples in {} ({} examples/s), loss {:.4f}, peak memory {}",
                      Describe(summary.end), Counted(summary.updates, "update"),
                      WithThousands(summary.examples), HumanSeconds(summary.wall_s),
                      WithThousands(static_cast<long long>(rate)), summary.final_loss,
                      HumanBytes(static_cast<double>(summary.peak_rss_bytes))));
  for (const std::string& line : DescribeTimes(summary.time.threads)) LogInfo("  " + line);
  if (summary.data) {
    for (const std::string& line : DescribeData(*summary.data, config.device)) LogInfo("  " + line);
  }
  LogInfo(DescribeBottleneck(summary.time, config, std::thread::hardware_concurrency()));
  if (summary.validation) {
    LogInfo(fmt::format(
        "validation: greedy descent solves {:.1f} % of fixed scrambles, value error {:.2f}; best "
        "after update {}",
        100 * summary.validation->solve_rate, summary.validation->value_error,
        summary.best_update));
  }
  if (summary.end == RunEnd::kStopped) {
    LogInfo(fmt::format("next: tandem train --resume {}", out.string()));
  } else {
    LogInfo(fmt::format("next: tandem solve --model {} --states FILE", out.string()));
  }
}

int Run(TrainRun& run, const RunDirectory& directory, const StopOnSignals& signals) {
  ProgressDisplay progress(run.config().validation.log);
  run.AddObserver(progress);
  while (run.RunUpdate()) {
  }
  progress.Close();
  const RunSummary summary = run.Finish();
  Report(summary, run.config(), directory.path());
  return summary.end == RunEnd::kStopped ? kSignalBase + signals.caught() : kDone;
}

// The whole of a run in a folder that is claimed for it.
int TrainIn(const RunDirectory& directory, const TrainConfig& asked,
            const std::shared_ptr<Device>& device, const StopOnSignals& signals,
            const Stopwatch& began) {
  TrainConfig config = ResolveAutos(asked, *device);
  config = ResolveMaxUpdates(config, device, began, signals.stop());
  Announce(config, device->description(), directory.path());
  TrainRun run(config, device, directory, signals.stop(), began);
  return Run(run, directory, signals);
}

int TrainAnew(const TrainArgs& args) {
  const Stopwatch began;
  const TrainConfig asked = LoadConfig(args.config, args.overrides);
  const std::shared_ptr<Device> device = OpenDevice(asked.device);
  const RunDirectory directory =
      RunDirectory::Create(args.out.empty() ? NewRunFolder("", args.config) : fs::path(args.out));
  const StopOnSignals signals;
  try {
    return TrainIn(directory, asked, device, signals, began);
  } catch (const Stopped&) {
    directory.Abandon();
    LogWarning("stopped before training began");
    return kSignalBase + signals.caught();
  } catch (...) {
    directory.Abandon();  // which leaves a run that has begun alone
    throw;
  }
}

// What may change when a run goes on; the rest decides what the weights will be. So do threads and
// the device, by last bits alone, but a run may have to go on on another machine.
void CheckMayChange(const std::vector<Override>& overrides) {
  constexpr std::string_view kMay[] = {"train.max_updates", "train.max_seconds",
                                       "train.threads",     "generate.workers",
                                       "evaluate.threads",  "prefetch.",
                                       "checkpoint.",       "search.",
                                       "diagnose.",         "device",
                                       "data.path",         "data.on_damage",
                                       "data.reading",      "data.cpu_prefetch",
                                       "data.gpu_prefetch", "memory.",
                                       "replay.map_to"};
  for (const Override& override : overrides) {
    const auto covers = [&](std::string_view key) { return override.key.starts_with(key); };
    if (std::ranges::none_of(kMay, covers)) {
      throw InputError(
          fmt::format("{}: a run goes on as it began; with --resume only these may change: {}",
                      override.origin, fmt::join(kMay, ", ")));
    }
  }
}

bool FallsUpToTheLastUpdate(Schedule schedule) {
  return schedule == Schedule::kLinear || schedule == Schedule::kCosine;
}

// Such a schedule would be another from update 0 on, and no config would give the run again.
void CheckScheduleStays(const TrainConfig& before, const TrainConfig& asked,
                        const fs::path& folder) {
  if (asked.train.max_updates == before.train.max_updates) return;
  if (!FallsUpToTheLastUpdate(asked.optimizer.schedule)) return;
  throw InputError(fmt::format(
      "train.max_updates: it stays {} for this run, whose learning rate falls by the {} schedule "
      "up to the last update; a new run with `--set network.init_from={}` can do more from its "
      "weights, and the constant and exponential schedules leave the number open",
      *before.train.max_updates, ValueText(asked, "optimizer.schedule"), folder.string()));
}

void CheckSomethingIsLeft(const TrainConfig& config, const RunCounters& done,
                          const fs::path& folder) {
  if (done.updates >= *config.train.max_updates) {
    throw InputError(fmt::format(
        "{} has done all its {} updates; {}", folder.string(), *config.train.max_updates,
        FallsUpToTheLastUpdate(config.optimizer.schedule)
            ? fmt::format(
                  "a new run with `--set network.init_from={}` can do more from its weights",
                  folder.string())
            : "`--set train.max_updates=N` lets it do more"));
  }
  if (config.train.max_seconds > 0 && done.wall_s >= config.train.max_seconds) {
    throw InputError(fmt::format(
        "{} has used the {} that it may take; `--set train.max_seconds=N` gives it more",
        folder.string(), HumanSeconds(config.train.max_seconds)));
  }
}

int Resume(const TrainArgs& args) {
  const Stopwatch began;
  CheckMayChange(args.overrides);
  const RunDirectory directory = RunDirectory::Reopen(args.resume);
  const TrainConfig asked = LoadConfig(directory.config(), args.overrides);
  if (!asked.train.max_updates) {
    throw InputError("train.max_updates: expected a number, since a run that goes on has begun");
  }
  CheckScheduleStays(LoadConfig(directory.config()), asked, directory.path());
  const Checkpoint checkpoint(directory.checkpoint());
  const RunCounters done = checkpoint.Counters();
  CheckSomethingIsLeft(asked, done, directory.path());
  const std::shared_ptr<Device> device = OpenDevice(asked.device);
  const TrainConfig config = ResolveAutos(asked, *device);
  const StopOnSignals signals;
  Announce(config, device->description(), directory.path());
  TrainRun run(config, device, directory, signals.stop(), began, &checkpoint);
  LogInfo(fmt::format("going on after update {} of {}", done.updates, *config.train.max_updates));
  directory.KeepMetricsOf(done.updates);
  return Run(run, directory, signals);
}

int Train(const TrainArgs& args) {
  const bool resume = !args.resume.empty();
  if (resume && (!args.config.empty() || !args.out.empty())) {
    throw InputError("--resume RUN_DIR takes the config and the folder of that run, no others");
  }
  if (!resume && args.config.empty()) {
    throw InputError("expected a config, such as configs/quickstart.yaml, or --resume RUN_DIR");
  }
  return resume ? Resume(args) : TrainAnew(args);
}

}  // namespace
}  // namespace tandem

extern "C" int tandem::tandem_run_train(const TrainArgs& args) {
  return WithPlainErrors([&] { return Train(args); });
}
