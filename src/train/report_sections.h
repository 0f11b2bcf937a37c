// The parts of a run that only some runs have, and what they report: shards, a stream, ranks, the
// timing of iterations, and a trace.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "base/timeline.h"
#include "config/config.h"
#include "loaders/shard_loader.h"
#include "loaders/stream_loader.h"
#include "nn/network.h"
#include "train/report.h"
#include "train/run_directory.h"

namespace tandem {

class Device;
class Ranks;

// The arguments of a section must outlive it. It counts from when it is made.

/// Compares the weights of the ranks by their hash after each update, and reports how they shared
/// its time. All ranks must have this section. OnUpdate throws Error that names the ranks whose
/// weights differ from rank 0's.
std::unique_ptr<RunSection> MakeRankSection(Ranks& ranks, const Network& net, const Config& config);

/// Reports how much was read from shards and how fast. The rate of transfers is left out for the
/// CPU, where nothing is transferred.
std::unique_ptr<RunSection> MakeShardSection(const ShardLoader& shards, const Config& config);

/// Reports which rows of a stream were used, and writes the ledger of `directory`.
std::unique_ptr<RunSection> MakeStreamSection(StreamLoader& stream, const RunDirectory& directory);

/// For profile.timing_breakdown: makes the main thread, whose track is `main`, wait for the device
/// after each activity. Logs the milliseconds of each activity in the first ten iterations, and
/// then means of 200. Without `logs`, the run has the same speed, but logs nothing.
std::unique_ptr<RunSection> MakeTimingBreakdown(Track& main, Device& device, const Config& config,
                                                bool logs);

/// Returns the config from which the components of a run are built. With profile.timing_breakdown,
/// nothing overlaps with training; the policy lag and the weights stay the same.
Config WithoutOverlapIfTimed(Config config);

/// "forward 2 x 1.503, backward 2 x 3.120, optimizer 0.402, sum 9.648, of which 0.210
/// synchronising": the mean milliseconds of an iteration. `times` covers `iterations` iterations of
/// `micro_steps` micro-steps each.
std::string DescribeIteration(const ActivityTimes& times, std::int64_t iterations,
                              std::int64_t micro_steps);

/// Records updates [trace_from, trace_from + trace_updates) and then writes the file `path`, a
/// timeline of a run's threads and CUDA streams. Starts at once if `next_update` is to be traced,
/// so that the trace includes the cold start. If that fails, logs a warning and training continues.
std::unique_ptr<RunSection> MakeTracer(Timeline& timeline, Device& device, const Config& config,
                                       std::filesystem::path path, std::int64_t next_update);

/// Returns the timeline in Chrome's "Trace Event Format": a track for each thread, with times in
/// microseconds from the start of the timeline.
nlohmann::ordered_json ChromeTrace(const Timeline& timeline);

/// Adds the kernels and copies of a Kineto trace to `trace`: a process for each GPU with a track
/// for each stream. Kineto uses the system clock; `start` is the time at which `trace` begins.
void AddKernels(const nlohmann::json& kineto, std::chrono::system_clock::time_point start,
                nlohmann::ordered_json& trace);

/// Adds up the times of the streams in a Kineto trace that covers `traced_s` seconds.
GpuTimes TimesOfGpu(const nlohmann::json& kineto, double traced_s);

}  // namespace tandem
