// What a run that goes on may do otherwise than it began.
#pragma once

#include <filesystem>
#include <vector>

#include "config/load.h"
#include "config/train_config.h"
#include "run/checkpoint.h"
#include "run/run_directory.h"

namespace tandem {

/// Throws InputError for a key that may not change when a run goes on: most decide what the weights
/// will be. So do threads and the device, by last bits alone, but a run may have to go on on
/// another machine.
void CheckMayChange(const std::vector<Override>& overrides);

/// The config with which the run in `directory` goes on from `checkpoint`: that of its config.yaml
/// with `overrides`. If updates follow the clock, they are planned as they were at the checkpoint.
/// Throws InputError if config.yaml was edited in a key that may not change, naming each key and
/// both values; and if the learning rate falls up to a last update that is now another, since then
/// no config would give the run again.
TrainConfig ConfigToResume(const RunDirectory& directory, const Checkpoint& checkpoint,
                           const std::vector<Override>& overrides);

/// Throws InputError if the run has done all that `config` lets it and its summary.json says so. A
/// run that was killed before it wrote that has its end left to do.
void CheckSomethingIsLeft(const TrainConfig& config, const RunCounters& done,
                          const std::filesystem::path& folder);

}  // namespace tandem
