#include "train/rank_plan.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "config/load.h"
#include "config/write.h"
#include "nn/device.h"
#include "train/resolve.h"

namespace tandem {

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
