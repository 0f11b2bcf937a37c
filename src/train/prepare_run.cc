#include "train/prepare_run.h"

#include <fmt/format.h>

#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/log.h"
#include "config/fields.h"
#include "config/named_paths.h"
#include "domain/plugin.h"
#include "nn/device.h"
#include "nn/gradient_step.h"
#include "nn/resnet_fc_copy.h"
#include "ranks/ranks.h"
#include "tandem/error.h"
#include "tandem/registry.h"
#include "train/calibrate.h"
#include "train/memory_plan.h"
#include "train/resolve.h"
#include "train/resume.h"

namespace tandem {
namespace {

std::shared_ptr<Device> DeviceFor(const Config& asked, const Group* group) {
  return group != nullptr ? group->device : OpenDevice(asked.device);
}

// The number of processes of the run on this machine, which share its cores.
int ProcessesOnThisMachine(const Group* group) {
  return group != nullptr ? group->ranks.environment().local_world_size : 1;
}

// Returns the config with `auto` for each way of computing that the device does not have.
Config WithWaysOf(const Device& device, Config config, const std::vector<Override>& overrides) {
  const bool has_step =
      WhyNoStep(config.train.step, config.network, config.train.precision, device).empty();
  if (!has_step && !IsOverridden(overrides, "train.step")) {
    config.train.step = TrainStep::kAuto;
  }
  const bool has_forward =
      WhyNoForward(config.inference.forward, config.network, config.inference.precision, device)
          .empty();
  if (!has_forward && !IsOverridden(overrides, "inference.forward")) {
    config.inference.forward = InferenceForward::kAuto;
  }
  return config;
}

// Throws InputError that names the key if the file or folder of one of `keys` is missing.
void CheckPaths(const Config& config, std::span<const std::string_view> keys) {
  if (const auto missing = FindMissingPath(config, keys)) throw InputError(missing->message);
}

void LogChanges(const Config& before, const Config& now) {
  for (const char* key : {"train.step", "inference.forward"}) {
    const std::string value = ValueText(now, key);
    if (const std::string old = ValueText(before, key); value != old) {
      LogInfo(
          fmt::format("{} is {} instead of {}, which this device does not have; the two differ "
                      "by rounding",
                      key, value, old));
    }
  }
}

}  // namespace

PreparedRun PrepareNew(const Config& asked, const Group* group, const Stopwatch& began,
                       const StopSignal& stop) {
  CheckPaths(asked, kPathsOfNewRun);
  CheckPluginDomain(*MakeDomain(asked.domain.full_name()));
  const std::shared_ptr<Device> device = DeviceFor(asked, group);
  PreparedRun run{.config = group == nullptr
                                ? ReplaceAutos(asked, device, began, stop)
                                : ResolveAutos(asked, *device, ProcessesOnThisMachine(group)),
                  .device = device,
                  .from = nullptr};
  CheckLimitsOfPhases(run.config);
  return run;
}

PreparedRun PrepareRest(const RunDirectory& directory, const std::filesystem::path& file,
                        const std::vector<Override>& overrides, const Group* group) {
  auto from = std::make_unique<Checkpoint>(file);
  const Config asked = ConfigToResume(directory, *from, overrides);
  CheckPaths(asked, kPathsOfResumedRun);
  CheckPluginDomain(*MakeDomain(asked.domain.full_name()));
  CheckNotComplete(asked, from->Counters(), directory.path());
  const std::shared_ptr<Device> device = DeviceFor(asked, group);
  PreparedRun run{.config = ResolveAutos(WithWaysOf(*device, asked, overrides), *device,
                                         ProcessesOnThisMachine(group)),
                  .device = device,
                  .from = std::move(from)};
  LogChanges(asked, run.config);
  CheckLimitsOfPhases(run.config);
  return run;
}

}  // namespace tandem
