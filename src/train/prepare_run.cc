#include "train/prepare_run.h"

#include <fmt/format.h>

#include <filesystem>
#include <string>
#include <utility>

#include "base/log.h"
#include "config/fields.h"
#include "config/load.h"
#include "config/validate.h"
#include "domain/registry.h"
#include "nn/backend.h"
#include "nn/device.h"
#include "ranks/ranks.h"
#include "tandem/error.h"
#include "tandem/registry.h"
#include "train/calibrate.h"
#include "train/resolve.h"
#include "train/resume.h"
#include "train/train_run.h"

namespace tandem {
namespace {

std::shared_ptr<Device> DeviceFor(const Config& asked, const RankGroup* group) {
  return group != nullptr ? group->device : OpenDevice(asked.device);
}

int CoresFor(const RankGroup* group) { return group != nullptr ? group->cores : NumCores(); }

// A run may resume on another machine. Resets the backend to `auto` if this device does not have
// it, and that of a GPU on a CPU, which has it for tests only. `saved` says where it ran.
Config WithSupportedBackend(const Device& device, const Config& saved, Config config,
                            const std::vector<Override>& overrides) {
  if (IsOverridden(overrides, "backend")) return config;
  const bool left_gpu = saved.device != "cpu" && device.torch().is_cpu();
  const Config resolved = WithBackends(config, device);
  const bool has_backend =
      WhyNoStep(resolved, device).empty() && WhyNoCopy(resolved, device).empty();
  if (!has_backend || (left_gpu && config.backend == BackendKind::kGpu)) {
    config.backend = BackendKind::kAuto;
  }
  return config;
}

// The precision of a run cannot change.
void CheckHasPrecision(const Config& config, const Device& device,
                       const std::vector<Override>& overrides) {
  const std::string why = WhyNoCopy(config, device);
  if (why.empty() || IsOverridden(overrides, "backend")) return;
  throw InputError(fmt::format(
      "the run evaluates with `inference.precision: {}`: {}. Resume it where that is supported, or "
      "begin a new run with its weights (network.init_from).",
      NameOf(kInferencePrecisions, config.inference.precision), why));
}

// Throws InputError that names the key if a file or folder that `work` needs is missing.
void CheckPaths(const Config& config, PathsOf work) {
  if (const auto missing = FindMissingPath(config, work)) throw InputError(missing->message);
}

void LogChange(const Config& before, const Config& now) {
  if (before.backend == now.backend) return;
  LogInfo(fmt::format(
      "backend is {} instead of {}, because this device is another one; the two differ by rounding",
      ValueText(now, "backend"), ValueText(before, "backend")));
}

// Makes a prepared run, together with the other ranks.
std::unique_ptr<TrainRun> Make(const PreparedRun& prepared, const RunDirectory& directory,
                               const RunSettings& settings) {
  settings.on_prepared(prepared);
  Ranks* const ranks = settings.group != nullptr ? &settings.group->ranks : nullptr;
  auto run = std::make_unique<TrainRun>(prepared.config, RunOptions{.device = prepared.device,
                                                                    .directory = directory,
                                                                    .stop = settings.stop,
                                                                    .began = settings.began,
                                                                    .from = prepared.from.get(),
                                                                    .ranks = ranks});
  // The run may replace the checkpoint, so all ranks must have made theirs.
  if (ranks != nullptr) ranks->Barrier();
  return run;
}

}  // namespace

PreparedRun PrepareNew(const Config& asked, const RankGroup* group, const Stopwatch& began,
                       const StopSignal& stop) {
  CheckPaths(asked, PathsOf::kNewRun);
  for (const std::string& sentence : DescribeUnusedKeys(asked)) LogWarning(sentence);
  CheckPluginDomain(*MakeDomain(asked.domain.full_name()));
  const std::shared_ptr<Device> device = DeviceFor(asked, group);
  PreparedRun run{.config = group == nullptr ? ResolveMaxUpdates(ResolveAutos(asked, *device),
                                                                 device, began, stop)
                                             : ResolveAutos(asked, *device, group->cores),
                  .device = device,
                  .from = nullptr};
  return run;
}

PreparedRun PrepareResume(const RunDirectory& directory, const std::filesystem::path& file,
                          const std::vector<Override>& overrides, const RankGroup* group) {
  auto from = std::make_unique<Checkpoint>(file);
  if (std::filesystem::is_empty(directory.config())) {
    LogWarning(fmt::format("{} is empty; continuing with the config saved in {}",
                           directory.config().string(), file.filename().string()));
  }
  const Config asked = ConfigToResume(directory, *from, overrides);
  CheckPaths(asked, PathsOf::kResumedRun);
  CheckPluginDomain(*MakeDomain(asked.domain.full_name()));
  CheckNotComplete(asked, from->Counters(), directory.path());
  const std::shared_ptr<Device> device = DeviceFor(asked, group);
  const Config saved = SavedConfig(directory, *from, OverridesOfPuzzleFile(overrides));
  PreparedRun run{.config = ResolveAutos(WithSupportedBackend(*device, saved, asked, overrides),
                                         *device, CoresFor(group)),
                  .device = device,
                  .from = std::move(from)};
  CheckHasPrecision(run.config, *device, overrides);
  LogChange(asked, run.config);
  return run;
}

std::unique_ptr<TrainRun> MakeNewRun(const Config& asked, const RunDirectory& directory,
                                     const RunSettings& settings) {
  try {
    return Make(PrepareNew(asked, settings.group, settings.began, settings.stop), directory,
                settings);
  } catch (...) {
    directory.Abandon();  // does nothing if the run can be resumed
    throw;
  }
}

std::unique_ptr<TrainRun> MakeResumedRun(const RunDirectory& directory,
                                         const std::vector<Override>& overrides,
                                         const RunSettings& settings) {
  return OpenNewest(directory, [&](const std::filesystem::path& file) {
    return Make(PrepareResume(directory, file, overrides, settings.group), directory, settings);
  });
}

}  // namespace tandem
