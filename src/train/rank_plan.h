// The plan on which the ranks of a run agree before it begins.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "config/config.h"
#include "ranks/rank_environment.h"

namespace tandem {

class Device;

/// Opens the device of a rank: the GPU that has its number on its machine (LOCAL_RANK), if `name`
/// is a GPU, with or without a number, or if it is `auto` and there are GPUs; otherwise the CPU.
/// Throws the errors of OpenDevice.
std::shared_ptr<Device> OpenDeviceOfRank(const std::string& name,
                                         const RankEnvironment& environment);

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
