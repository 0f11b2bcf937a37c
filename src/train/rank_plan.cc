#include "train/rank_plan.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string_view>

#include "config/fields.h"
#include "config/load.h"
#include "config/training_phases.h"
#include "nn/device.h"
#include "tandem/error.h"
#include "train/resume.h"

namespace tandem {
namespace {

void CheckPhase(const Config& config) {
  const auto refuse = [&](bool refused, std::string_view key, std::string_view why) {
    if (!refused) return;
    throw InputError(fmt::format(
        "`{}: {}` is not supported with several ranks: {}. Change the key, or train in one process",
        key, ValueText(config, key), why));
  };
  refuse(config.data.source != DataSource::kLive, "data.source",
         "the position in the data is that of one process");
  refuse(LabelsWhenTraining(config.pipeline.mode), "pipeline.mode",
         "its results depend on timing, so the ranks cannot be compared");
  refuse(config.pipeline.refresh == Refresh::kSolveRate, "pipeline.refresh",
         "only rank 0 validates");
  refuse(config.replay.updates > 0, "replay.updates", "a checkpoint holds the rows of one process");
  refuse(config.generate.program == Program::kTensor, "generate.program",
         "it has been tested in one process only");
  refuse(config.generate.curriculum, "generate.curriculum",
         "each rank would follow the searches of its own rows");
}

}  // namespace

void CheckRanks(const Config& config) {
  if (!config.train.max_updates || config.train.follows_clock) {
    throw InputError(
        "`train.max_updates: auto` is not supported with several ranks, whose clocks would plan "
        "differently. Set a number, and train.max_seconds as a limit");
  }
  for (std::int64_t phase = 0; phase <= std::ssize(config.phases); ++phase) {
    CheckPhase(ConfigOfPhase(config, phase));
  }
}

std::shared_ptr<Device> OpenDeviceOfRank(const std::string& name,
                                         const RankEnvironment& environment) {
  const std::string own = fmt::format("cuda:{}", environment.local_rank);
  std::shared_ptr<Device> device = OpenDevice(name.starts_with("cuda") ? own : name);
  const bool is_other = device->torch().is_cuda() && device->torch().str() != own;
  return is_other ? OpenDevice(own) : device;
}

std::string PlanText(const RankPlan& plan) {
  const nlohmann::json json = {{"config", ToYaml(WithAbsolutePaths(plan.config))},
                               {"checkpoint", plan.checkpoint.string()},
                               {"complete", plan.complete}};
  return json.dump();
}

RankPlan ParsePlan(const std::string& text) {
  const nlohmann::json json = nlohmann::json::parse(text);
  return {.config = ParseConfig(json.at("config").get<std::string>(), "the config of rank 0"),
          .checkpoint = json.at("checkpoint").get<std::string>(),
          .complete = json.at("complete").get<bool>()};
}

}  // namespace tandem
