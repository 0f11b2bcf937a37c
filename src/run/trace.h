// trace.json: what a run's threads, and its GPU, did and when.
#pragma once

#include <algorithm>
#include <chrono>
#include <exception>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>

#include "base/timeline.h"
#include "config/train_config.h"
#include "nn/device.h"
#include "nn/kernel_trace.h"
#include "run/run_profile.h"

namespace tandem {

/// With profile.trace: records updates [trace_from, trace_from + trace_updates) and writes the
/// file when they are done. A trace that cannot be recorded or written is a warning: training goes
/// on. Used by the main thread.
class Tracer {
 public:
  /// Records from here on if `next_update` is the first to be traced, so that the cold start is in
  /// the picture. All but the path must outlive this.
  Tracer(Timeline& timeline, Device& device, const TrainConfig& config, std::filesystem::path path,
         std::int64_t next_update);
  ~Tracer();
  Tracer(const Tracer&) = delete;
  Tracer& operator=(const Tracer&) = delete;

  /// Goes on recording until `end` updates are done, if that is later. Before the first update.
  void CoverUpdatesUpTo(std::int64_t end) { end_ = std::max(end_, end); }

  void UpdateStarts(std::int64_t update);

  /// `updates` are done.
  void UpdateEnds(std::int64_t updates);

  /// Writes what there is, if the run ended before the last update to be traced.
  void Finish();

  /// What the GPU did, once the file is written; nothing without a GPU.
  const std::optional<GpuTimes>& gpu() const { return gpu_; }

 private:
  void Start();
  void Write();
  void WriteTrace();
  void GiveUp(const std::exception& error);
  void AddKernelsTo(nlohmann::ordered_json& trace);

  enum class State : std::uint8_t { kWaiting, kRecording, kWritten };

  Timeline& timeline_;
  Device& device_;
  State state_ = State::kWaiting;
  bool passed_ = false;       // the first update to trace has come, or was done before
  const std::int64_t first_;  // update
  std::int64_t end_;          // the one after the last
  const std::filesystem::path path_;
  std::optional<KernelTrace> kernels_;  // while recording on a GPU
  Track::Clock::time_point recording_since_;
  std::optional<GpuTimes> gpu_;
};

/// The timeline as Chrome's trace format has it ("Trace Event Format"): a track for each thread,
/// times in microseconds from the timeline's start.
nlohmann::ordered_json ChromeTrace(const Timeline& timeline);

/// Adds to `trace` what a GPU did of a trace by Kineto, whose clock is the system's, as a process
/// with a track for each stream. `start` is when `trace` begins.
void AddKernels(const nlohmann::json& kineto, std::chrono::system_clock::time_point start,
                nlohmann::ordered_json& trace);

/// Adds up what the streams did in a trace by Kineto that took `traced_s`.
GpuTimes TimesOfGpu(const nlohmann::json& kineto, double traced_s);

}  // namespace tandem
