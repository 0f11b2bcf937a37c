// What a throw-away run measures before a run begins.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/stop_signal.h"
#include "base/stopwatch.h"
#include "config/train_config.h"
#include "nn/device.h"

namespace tandem {

/// What a number of threads gave.
struct ThreadRate {
  std::int64_t threads = 1;
  double iterations_per_s = 0;
};

/// The fewest threads that are about as fast as the fastest number. On a machine that others use
/// too, more threads are often slower: each waits for the slowest.
std::int64_t FastestThreads(const std::vector<ThreadRate>& rates);

/// How many iterations an update of `config` should have so that enough updates fit into a run of
/// `iterations`; at most as many as it has.
std::int64_t IterationsPerUpdate(const TrainConfig& config, double iterations);

/// Replaces train.threads, and inference.threads, by the number with which short throw-away runs
/// are fastest, where `asked` says `auto` and a run on the CPU is long enough to repay that.
/// `config` is `asked` after ResolveAutos. Throws as ResolveMaxUpdates.
TrainConfig MeasureThreads(TrainConfig config, const TrainConfig& asked,
                           const std::shared_ptr<Device>& device, const StopSignal& stop);

/// Replaces train.max_updates: auto by the number of updates that a throw-away run of a few seconds
/// says will fit between now and `began` + train.max_seconds, and has the run follow the clock;
/// buffers are made shorter where too few updates would fit. Other configs are returned as they
/// are. `config` has no other `auto` left. Throws InputError, before anything large is allocated,
/// if the run would exceed a limit of `config`'s memory, and Stopped once `stop` is reached.
TrainConfig ResolveMaxUpdates(TrainConfig config, const std::shared_ptr<Device>& device,
                              const Stopwatch& began, const StopSignal& stop);

}  // namespace tandem
