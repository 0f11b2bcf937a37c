// A trace of a run's threads and CUDA streams.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <nlohmann/json_fwd.hpp>

#include "base/timeline.h"
#include "config/config.h"
#include "train/report.h"

namespace tandem {

class Device;

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
