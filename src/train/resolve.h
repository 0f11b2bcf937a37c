// Completes the config of a run.
#pragma once

#include <cstdint>

#include "base/machine.h"
#include "config/config.h"

namespace tandem {

class Device;
struct RunOptions;

/// Replaces every `auto` except that of train.max_updates, which ResolveMaxUpdates measures.
/// `cores` are those that this process can use.
Config ResolveAutos(Config config, const Device& device, int cores = NumCores());

/// Makes every path absolute, so that a saved config can be used from any folder.
Config WithAbsolutePaths(Config config);

/// Returns how many iterations an update of `config` should have so that enough updates fit into a
/// run of `iterations` iterations. At most train.iterations_per_update.
std::int64_t IterationsPerUpdate(const Config& config, double iterations);

/// Replaces `train.max_updates: auto`, and returns other configs unchanged. A discarded run of a
/// few seconds estimates how many updates fit between now and `run.began` + train.max_seconds;
/// buffers become shorter if too few would fit. If it finishes no iteration, warns and plans a
/// number that is not measured. The run then follows the clock: it revises its plan as it goes on.
/// `config` must have no other `auto` left. Throws Stopped once the stop signal of `run` is
/// reached.
Config ResolveMaxUpdates(Config config, const RunOptions& run);

}  // namespace tandem
