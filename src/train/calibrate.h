// Measurements with short discarded runs before a run begins.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/stop_signal.h"
#include "base/stopwatch.h"
#include "config/config.h"

namespace tandem {

class Device;

/// ThreadRate is the speed measured with a number of threads.
struct ThreadRate {
  std::int64_t threads = 1;
  std::optional<double> iterations_per_s;  ///< nothing if no iteration ended in time
};

/// Returns the smallest number of threads that is about as fast as the fastest. On a machine that
/// others use too, more threads are often slower, because each waits for the slowest. Returns
/// nothing if no rate was measured.
std::optional<std::int64_t> FastestThreads(const std::vector<ThreadRate>& rates);

/// Returns how many iterations an update of `config` should have so that enough updates fit into a
/// run of `iterations` iterations. At most train.iterations_per_update.
std::int64_t IterationsPerUpdate(const Config& config, double iterations);

/// If train.threads is `auto` in `requested`, and a run on the CPU is long enough to repay
/// measuring, replaces it by the number with which short discarded runs are fastest. Replaces
/// inference.threads too if it is `auto`. If no discarded run finishes an iteration, warns and
/// returns `config`, which is `requested` after ResolveAutos. Throws the same errors as
/// ResolveMaxUpdates.
Config MeasureThreads(Config config, const Config& requested, const std::shared_ptr<Device>& device,
                      const StopSignal& stop);

/// Replaces `train.max_updates: auto`. A discarded run of a few seconds estimates how many updates
/// fit between now and `began` + train.max_seconds. Buffers become shorter if too few updates would
/// fit. If the discarded run finishes no iteration, warns and plans a number of updates that is not
/// measured. The run then follows the clock: it revises its plan as it goes on. Returns other
/// configs unchanged. `config` must have no other `auto` left. Throws Stopped
/// once `stop` is reached.
Config ResolveMaxUpdates(Config config, const std::shared_ptr<Device>& device,
                         const Stopwatch& began, const StopSignal& stop);

/// Replaces every `auto`, as a new run does: ResolveAutos, MeasureThreads, ResolveMaxUpdates.
/// Throws the same errors.
Config ReplaceAutos(const Config& requested, const std::shared_ptr<Device>& device,
                    const Stopwatch& began, const StopSignal& stop);

}  // namespace tandem
