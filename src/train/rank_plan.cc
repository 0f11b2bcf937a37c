#include "train/rank_plan.h"

#include <nlohmann/json.hpp>

#include "config/load.h"
#include "config/write.h"
#include "train/resolve.h"

namespace tandem {

// CBOR, because paths may have any bytes, and texts of JSON must be UTF-8.
std::string EncodePlan(const RankPlan& plan) {
  const nlohmann::json json = {{"config", ToYaml(WithAbsolutePaths(plan.config))},
                               {"checkpoint", plan.checkpoint.string()},
                               {"complete", plan.complete}};
  std::string bytes;
  nlohmann::json::to_cbor(json, bytes);
  return bytes;
}

RankPlan DecodePlan(const std::string& bytes) {
  const nlohmann::json json = nlohmann::json::from_cbor(bytes);
  return {.config = ParseConfig(json.at("config").get<std::string>(), "the config of rank 0"),
          .checkpoint = json.at("checkpoint").get<std::string>(),
          .complete = json.at("complete").get<bool>()};
}

}  // namespace tandem
