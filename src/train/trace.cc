#include "train/trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/json.h"
#include "base/log.h"
#include "base/text.h"
#include "nn/device.h"
#include "nn/torch_message.h"

namespace tandem {
namespace {

using Json = nlohmann::ordered_json;
using Clock = Track::Clock;

constexpr int kThreadTracks = 1;        // process number of the run in the trace
constexpr int kFirstGpuProcess = 1000;  // of GPU 0; GPU i has the i-th number after it

Json NameEvent(const char* what, int process, std::int64_t thread, const std::string& name) {
  return {
      {"ph", "M"}, {"name", what}, {"pid", process}, {"tid", thread}, {"args", {{"name", name}}}};
}

// Writes spans as complete events, and arrows as flow events bound to the enclosing span.
Json ToJson(const TraceEvent& event, std::int64_t thread, Clock::time_point start) {
  const auto micros = [](Clock::duration time) {
    return std::chrono::duration<double, std::micro>(time).count();
  };
  Json json = {{"name", event.name},
               {"pid", kThreadTracks},
               {"tid", thread},
               {"ts", micros(event.begin - start)}};
  if (event.kind == TraceEvent::Kind::kSpan) {
    json["ph"] = "X";
    json["dur"] = micros(event.end - event.begin);
    if (event.number != TraceEvent::kNoNumber) json["args"] = {{"number", event.number}};
    return json;
  }
  json["cat"] = "flow";
  json["id"] = event.number;
  json["ph"] = event.kind == TraceEvent::Kind::kArrowStart ? "s" : "f";
  if (event.kind == TraceEvent::Kind::kArrowEnd) json["bp"] = "e";
  return json;
}

// Converts a time to the system clock, which Kineto uses.
std::chrono::system_clock::time_point OnSystemClock(Clock::time_point moment) {
  using std::chrono::system_clock;
  return system_clock::now() -
         std::chrono::duration_cast<system_clock::duration>(Clock::now() - moment);
}

bool IsOnGpu(const nlohmann::json& event) {
  const std::string category = event.value("cat", "");
  return event.value("ph", "") == "X" &&
         (category == "kernel" || category == "gpu_memcpy" || category == "gpu_memset");
}

// Returns the bytes that a copy moved or a fill wrote; 0 for a kernel.
std::int64_t BytesOf(const nlohmann::json& event) {
  const auto args = event.find("args");
  return args == event.end() ? 0 : args->value("bytes", std::int64_t{0});
}

using Arrow = std::pair<std::string_view, std::int64_t>;  // name and number

// Counts the recorded ends of each arrow. An arrow with only one recorded end is not drawn.
std::map<Arrow, int> EndsOfArrows(const Timeline& timeline) {
  std::map<Arrow, int> ends;
  for (const Track* track : timeline.Tracks()) {
    for (const TraceEvent& event : track->Events()) {
      if (event.kind != TraceEvent::Kind::kSpan) ++ends[{event.name, event.number}];
    }
  }
  return ends;
}

class Tracer final : public RunSection {
 public:
  Tracer(Timeline& timeline, Device& device, const Config& config, std::filesystem::path path,
         std::int64_t next_update)
      : timeline_(timeline),
        device_(device),
        first_(config.profile.trace_from),
        end_(first_ + config.profile.trace_updates),
        path_(std::move(path)) {
    if (next_update >= first_ && next_update < end_) Start();
  }

  ~Tracer() override { timeline_.Record(false); }
  Tracer(const Tracer&) = delete;
  Tracer& operator=(const Tracer&) = delete;

  void OnUpdateStart(std::int64_t update) override {
    passed_ = update >= first_;
    if (state_ == State::kWaiting && passed_ && update < end_) Start();
  }

  void OnUpdateEnd(std::int64_t updates) override {
    if (state_ == State::kRecording && updates >= end_) Write();
  }

  // Writes what was recorded, if the run ended before the last update to trace.
  void Report(RunSummary& summary) override {
    if (state_ == State::kRecording) {
      Write();
    } else if (state_ == State::kWaiting && !std::filesystem::exists(path_)) {
      LogWarning(fmt::format("no trace: the run {} {}, `profile.trace_from`",
                             passed_ ? fmt::format("resumed after the {} from update",
                                                   Counted(end_ - first_, "update"))
                                     : "ended before update",
                             first_));
    }
    summary.time.gpu = gpu_;
  }

 private:
  void Start() {
    try {
      if (device_.torch().is_cuda()) {
        kernels_ = WithPlainErrors([] { return std::make_unique<KernelTrace>(); });
      }
    } catch (const std::exception& error) {
      GiveUp(error);
      return;
    }
    recording_since_ = Clock::now();
    timeline_.Record(true);
    state_ = State::kRecording;
  }

  void GiveUp(const std::exception& error) {
    kernels_.reset();
    state_ = State::kWritten;
    LogWarning(fmt::format("{}: cannot record a trace: {}. The run continues without it.",
                           path_.string(), error.what()));
  }

  void Write() {
    timeline_.Record(false);
    state_ = State::kWritten;
    try {
      WithPlainErrors([this] { WriteTrace(); });
    } catch (const std::exception& error) {
      GiveUp(error);
    }
  }

  void WriteTrace() {
    // First, because the GPU gets no work while this thread writes.
    const nlohmann::json kernels = kernels_ ? StopRecordingKernels() : nlohmann::json();
    Json trace = ChromeTrace(timeline_);
    if (!kernels.is_null()) AddKernels(kernels, OnSystemClock(timeline_.start()), trace);
    const std::string text = DumpJson(trace) + "\n";
    WriteFileAtomically(path_, text);
    LogInfo(fmt::format("{}: {} of trace; open it in ui.perfetto.dev or chrome://tracing",
                        path_.string(), HumanBytes(static_cast<double>(text.size()))));
  }

  // Returns what the profiler recorded, or null if that cannot be read.
  nlohmann::json StopRecordingKernels() {
    const std::filesystem::path aside = path_.string() + ".kernels";
    device_.Synchronize();
    const double recorded_s =
        std::chrono::duration<double>(Clock::now() - recording_since_).count();
    kernels_->Save(aside);
    kernels_.reset();
    nlohmann::json kineto =
        nlohmann::json::parse(ReadFile(aside), nullptr, /*allow_exceptions=*/false);
    RemoveFile(aside);
    if (kineto.is_discarded()) {
      LogWarning(fmt::format("{}: the profiler did not write JSON; the trace has no CUDA streams",
                             path_.string()));
      return nullptr;
    }
    gpu_ = TimesOfGpu(kineto, recorded_s);
    return kineto;
  }

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
  std::optional<GpuTimes> gpu_;  // once the file is written; nothing without a GPU
};

}  // namespace

Json ChromeTrace(const Timeline& timeline) {
  Json events = Json::array();
  events.push_back(NameEvent("process_name", kThreadTracks, 0, "tandem"));
  std::map<Arrow, int> ends = EndsOfArrows(timeline);
  std::int64_t thread = 0;
  for (const Track* track : timeline.Tracks()) {
    events.push_back(NameEvent("thread_name", kThreadTracks, ++thread, track->name()));
    for (const TraceEvent& event : track->Events()) {
      const bool half_arrow =
          event.kind != TraceEvent::Kind::kSpan && ends[{event.name, event.number}] != 2;
      if (!half_arrow) events.push_back(ToJson(event, thread, timeline.start()));
    }
  }
  return {{"displayTimeUnit", "ms"}, {"traceEvents", std::move(events)}};
}

void AddKernels(const nlohmann::json& kineto, std::chrono::system_clock::time_point start,
                Json& trace) {
  const auto base = std::chrono::nanoseconds(kineto.value("baseTimeNanoseconds", std::int64_t{0}));
  const double shift =
      std::chrono::duration<double, std::micro>(base - start.time_since_epoch()).count();
  std::map<std::pair<int, std::int64_t>, bool> named;  // (GPU, stream)
  for (const nlohmann::json& event : kineto.at("traceEvents")) {
    if (!IsOnGpu(event)) continue;
    const int gpu = event.at("pid").get<int>();
    const int process = kFirstGpuProcess + gpu;
    const auto stream = event.at("tid").get<std::int64_t>();
    if (!std::exchange(named[{gpu, stream}], true)) {
      trace["traceEvents"].push_back(
          NameEvent("process_name", process, stream, fmt::format("GPU {}", gpu)));
      trace["traceEvents"].push_back(
          NameEvent("thread_name", process, stream, fmt::format("stream {}", stream)));
    }
    Json shown = {{"name", event.at("name")},
                  {"cat", event.at("cat")},
                  {"pid", process},
                  {"tid", stream},
                  {"ts", event.at("ts").get<double>() + shift},
                  {"ph", "X"},
                  {"dur", event.at("dur")}};
    if (const std::int64_t bytes = BytesOf(event); bytes > 0) shown["args"] = {{"bytes", bytes}};
    trace["traceEvents"].push_back(std::move(shown));
  }
}

GpuTimes TimesOfGpu(const nlohmann::json& kineto, double traced_s) {
  GpuTimes times{.traced_s = traced_s};
  std::vector<std::pair<double, double>> stretches;  // seconds from, to
  for (const nlohmann::json& event : kineto.at("traceEvents")) {
    if (!IsOnGpu(event)) continue;
    const double from = 1e-6 * event.at("ts").get<double>();
    const double took = 1e-6 * event.at("dur").get<double>();
    stretches.emplace_back(from, from + took);
    GpuTimes::Stream& stream = times.streams[event.at("tid").get<std::int64_t>()];
    (event.at("cat") == "kernel" ? stream.kernels_s : stream.copies_s) += took;
  }
  std::ranges::sort(stretches);
  double until = -std::numeric_limits<double>::infinity();
  for (const auto& [from, to] : stretches) {
    times.busy_s += std::max(0.0, to - std::max(from, until));
    until = std::max(until, to);
  }
  return times;
}

std::unique_ptr<RunSection> MakeTracer(Timeline& timeline, Device& device, const Config& config,
                                       std::filesystem::path path, std::int64_t next_update) {
  return std::make_unique<Tracer>(timeline, device, config, std::move(path), next_update);
}

}  // namespace tandem
