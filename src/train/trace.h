// Writes trace.json, a timeline of a run's threads and CUDA streams.
#pragma once

#include <chrono>
#include <exception>
#include <filesystem>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>

#include "base/timeline.h"
#include "config/config.h"
#include "train/report.h"

namespace tandem {

class Device;
class KernelTrace;

/// Tracer records updates [trace_from, trace_from + trace_updates) and writes the file when they
/// are done. If the trace cannot be recorded or written, it logs a warning and training continues.
/// Only the main thread uses this class.
class Tracer final : public RunSection {
 public:
  /// Starts recording at once if `next_update` is to be traced, so that the trace includes the cold
  /// start. `timeline` and `device` must outlive this object.
  Tracer(Timeline& timeline, Device& device, const Config& config, std::filesystem::path path,
         std::int64_t next_update);
  ~Tracer() override;
  Tracer(const Tracer&) = delete;
  Tracer& operator=(const Tracer&) = delete;

  void OnUpdateStart(std::int64_t update) override;
  void OnUpdateEnd(std::int64_t updates) override;

  /// Writes what was recorded, if the run ended before the last update to trace. Reports the times
  /// of the GPU.
  void Report(RunSummary& summary) override;

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
  bool passed_ = false;       // the first update to trace has started, or was done before
  const std::int64_t first_;  // first update to trace
  const std::int64_t end_;    // update after the last one to trace
  const std::filesystem::path path_;
  std::unique_ptr<KernelTrace> kernels_;  // while recording on a GPU
  Track::Clock::time_point recording_since_;
  std::optional<GpuTimes> gpu_;
};

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
