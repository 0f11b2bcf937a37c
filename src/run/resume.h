// Checks what may change when a run is resumed.
#pragma once

#include <filesystem>
#include <vector>

#include "config/load.h"
#include "config/train_config.h"
#include "run/checkpoint.h"
#include "run/run_directory.h"

namespace tandem {

/// Throws InputError for a key that must not change when a run is resumed. Most keys determine the
/// weights. Threads and the device change at most the last bits of the weights, and may change
/// because a run may have to continue on another machine.
void CheckMayChange(const std::vector<Override>& overrides);

/// Returns the config with which the run in `directory` continues from `checkpoint`: its
/// config.yaml with `overrides`. In a run that follows the clock, the plan is that of the
/// checkpoint. Throws InputError if config.yaml was edited in a key that must not change; the error
/// names each key and both values. Also throws InputError if train.max_updates changes and the
/// learning rate decreases up to the last update, because no config would then repeat the run.
TrainConfig ConfigToResume(const RunDirectory& directory, const Checkpoint& checkpoint,
                           const std::vector<Override>& overrides);

/// Throws InputError if the run is complete: it has done all updates or used all the time of
/// `config`, and has a summary.json. A run that was killed before it wrote that file still has to
/// finish.
void CheckSomethingIsLeft(const TrainConfig& config, const RunCounters& done,
                          const std::filesystem::path& folder);

}  // namespace tandem
