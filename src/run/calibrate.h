// How many updates fit into a time limit, found by running some.
#pragma once

#include <cstdint>
#include <memory>

#include "base/stop_signal.h"
#include "base/stopwatch.h"
#include "config/train_config.h"
#include "nn/device.h"

namespace tandem {

/// How many updates to plan for so many seconds, less a margin; at least 1.
std::int64_t UpdatesThatFit(double seconds, double iteration_s, std::int64_t iterations_per_update);

/// Replaces train.max_updates: auto by the number of updates that a throw-away run of a few seconds
/// says will fit between now and `began` + train.max_seconds, less a margin; other configs are
/// returned as they are. `config` has no other `auto` left. Throws InputError, before anything
/// large is allocated, if the run would exceed a limit of `config`'s memory, and Stopped once
/// `stop` is reached.
TrainConfig ResolveMaxUpdates(TrainConfig config, const std::shared_ptr<Device>& device,
                              const Stopwatch& began, const StopSignal& stop);

}  // namespace tandem
