// What a run that goes on may do otherwise than it began.
#pragma once

#include <filesystem>
#include <vector>

#include "config/load.h"
#include "config/train_config.h"
#include "run/checkpoint.h"

namespace tandem {

/// Throws InputError for a key that may not change when a run goes on: most decide what the weights
/// will be. So do threads and the device, by last bits alone, but a run may have to go on on
/// another machine.
void CheckMayChange(const std::vector<Override>& overrides);

/// Throws InputError if the learning rate of the run in `folder`, whose config was `before`, falls
/// up to a last update that is now another: the schedule would be another from update 0 on, and no
/// config would give the run again.
void CheckScheduleStays(const TrainConfig& before, const TrainConfig& asked,
                        const std::filesystem::path& folder);

/// Throws InputError if the run has done all that `config` lets it.
void CheckSomethingIsLeft(const TrainConfig& config, const RunCounters& done,
                          const std::filesystem::path& folder);

}  // namespace tandem
