// The plan on which the ranks of a run agree before it begins.
#pragma once

#include <filesystem>
#include <string>

#include "config/config.h"

namespace tandem {

/// RankPlan is what rank 0 tells the other ranks.
struct RankPlan {
  Config config;                          ///< of the run, without `auto`, with absolute paths
  std::filesystem::path checkpoint = {};  ///< from which all ranks continue; empty: a new run
  bool complete = false;                  ///< the run was complete when the ranks were restarted
};

/// Returns bytes from which DecodePlan makes the plan again.
std::string EncodePlan(const RankPlan& plan);
RankPlan DecodePlan(const std::string& bytes);

}  // namespace tandem
