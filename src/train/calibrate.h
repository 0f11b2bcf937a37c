// Measures before a run begins how many updates fit into its time.
#pragma once

#include <cstdint>
#include <memory>

#include "base/stop_signal.h"
#include "base/stopwatch.h"
#include "config/config.h"

namespace tandem {

class Device;

/// Returns how many iterations an update of `config` should have so that enough updates fit into a
/// run of `iterations` iterations. At most train.iterations_per_update.
std::int64_t IterationsPerUpdate(const Config& config, double iterations);

/// Replaces `train.max_updates: auto`. A discarded run of a few seconds estimates how many updates
/// fit between now and `began` + train.max_seconds. Buffers become shorter if too few updates would
/// fit. If the discarded run finishes no iteration, warns and plans a number of updates that is not
/// measured. The run then follows the clock: it revises its plan as it goes on. Returns other
/// configs unchanged. `config` must have no other `auto` left. Throws Stopped
/// once `stop` is reached.
Config ResolveMaxUpdates(Config config, const std::shared_ptr<Device>& device,
                         const Stopwatch& began, const StopSignal& stop);

}  // namespace tandem
