#include "report/run_timeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>
#include <utility>

#include "base/file.h"
#include "base/json.h"
#include "base/timeline.h"
#include "tandem/error.h"

namespace tandem {
namespace {

using Json = nlohmann::json;

constexpr double kPixels = 1000;
constexpr double kRounding = 1e-9;  // seconds; a trace is in microseconds

WorkKind KindOf(Activity activity) {
  switch (activity) {
    case Activity::kGenerate:
    case Activity::kScramble:
    case Activity::kExpand:
    case Activity::kEvaluate:
    case Activity::kBackUp:
    case Activity::kWrite:
      return WorkKind::kGenerate;
    case Activity::kShuffle:
    case Activity::kGather:
    case Activity::kHostToDevice:
    case Activity::kDiskLoad:
    case Activity::kGpuTransfer:
      return WorkKind::kBatches;
    case Activity::kReplay:
    case Activity::kForward:
    case Activity::kBackward:
    case Activity::kClipGradients:
    case Activity::kOptimizer:
      return WorkKind::kTrain;
    case Activity::kUnnamed:
    case Activity::kSetUp:
    case Activity::kServe:
    case Activity::kReduce:
    case Activity::kRefreshTarget:
    case Activity::kPublish:
    case Activity::kKeepState:
    case Activity::kValidation:
    case Activity::kCheckpoint:
    case Activity::kReport:
    case Activity::kCount:
      return WorkKind::kOther;
    case Activity::kIdle:
    case Activity::kWaitForWorkers:
    case Activity::kWaitForInference:
    case Activity::kWaitForFreeSlot:
    case Activity::kWaitForRoom:
    case Activity::kWaitForChunk:
    case Activity::kGpuQueueWait:
    case Activity::kWaitForRows:
    case Activity::kWaitForBatch:
    case Activity::kWaitForDevice:
    case Activity::kWaitForRanks:
      return WorkKind::kWait;
  }
  return WorkKind::kOther;  // not reached: the compiler warns of a missing case
}

// The kind of a span of a trace: an activity, or one of the sections that contain activities.
WorkKind KindOf(std::string_view span) {
  if (const auto activity = ActivityNamed(span)) return KindOf(*activity);
  if (span == "fill") return WorkKind::kGenerate;
  return span == "iteration" || span == "train" ? WorkKind::kTrain : WorkKind::kOther;
}

// Leaves only spans that have no span inside them, sorted by their begin.
std::vector<Lane::Work> Innermost(std::vector<Lane::Work> spans) {
  std::ranges::sort(spans, [](const Lane::Work& a, const Lane::Work& b) {
    return std::pair(a.when.begin, -a.when.end) < std::pair(b.when.begin, -b.when.end);
  });
  std::vector<Lane::Work> inner;
  for (std::size_t i = 0; i < spans.size(); ++i) {
    const bool has_child = i + 1 < spans.size() && spans[i + 1].when.begin < spans[i].when.end &&
                           spans[i + 1].when.end <= spans[i].when.end + kRounding;
    if (!has_child) inner.push_back(spans[i]);
  }
  return inner;
}

// Joins pieces of one kind that a reader could not tell apart, so that a long trace stays small.
std::vector<Lane::Work> Joined(const std::vector<Lane::Work>& work, double pixel) {
  std::vector<Lane::Work> joined;
  for (const Lane::Work& each : work) {
    const bool extends = !joined.empty() && joined.back().kind == each.kind &&
                         each.when.begin - joined.back().when.end < pixel;
    if (extends) {
      joined.back().when.end = std::max(joined.back().when.end, each.when.end);
    } else {
      joined.push_back(each);
    }
  }
  return joined;
}

// The lanes by process and thread, which is also the order in which they are shown.
std::map<std::pair<int, std::int64_t>, Lane> LanesOf(const Json& trace) {
  std::map<std::pair<int, std::int64_t>, Lane> lanes;
  for (const Json& event : trace.at("traceEvents")) {
    const std::string type = event.at("ph");
    const int process = event.at("pid");
    const std::pair id(process, event.at("tid").get<std::int64_t>());
    if (type == "M" && event.at("name") == "thread_name") {
      lanes[id].name = event.at("args").at("name");
    } else if (type == "X") {
      const double begin = 1e-6 * event.at("ts").get<double>();
      const double seconds = 1e-6 * event.at("dur").get<double>();
      const std::string name = event.at("name");
      lanes[id].work.push_back(
          {.when = {.begin = begin, .end = begin + seconds},
           .kind = process >= kFirstGpuProcess ? WorkKind::kTrain : KindOf(name)});
    }
  }
  return lanes;
}

}  // namespace

RunTimeline ReadTrace(const std::filesystem::path& file) {
  std::map<std::pair<int, std::int64_t>, Lane> lanes;
  const std::string text = ReadFile(file);
  try {
    lanes = LanesOf(ParseJson(text));
  } catch (const std::exception& error) {  // not JSON, or not these entries
    throw InputError(
        fmt::format("{}: not a trace ({}). Expected the file that profile.trace_updates makes a "
                    "run write; remove it, or train "
                    "again.",
                    file.string(), error.what()));
  }
  Range shown;
  for (const auto& [id, lane] : lanes) {
    for (const Lane::Work& work : lane.work) {
      shown.Add(work.when.begin);
      shown.Add(work.when.end);
    }
  }
  RunTimeline timeline;
  if (shown.most <= shown.least) return timeline;
  timeline.shown = {.begin = shown.least, .end = shown.most};
  const double pixel = (shown.most - shown.least) / kPixels;
  for (auto& [id, lane] : lanes) {
    if (lane.work.empty()) continue;
    const std::string gpu =
        id.first >= kFirstGpuProcess ? fmt::format("GPU {}, ", id.first - kFirstGpuProcess) : "";
    timeline.lanes.push_back(
        {.name = gpu + lane.name, .work = Joined(Innermost(std::move(lane.work)), pixel)});
  }
  return timeline;
}

RunTimeline TimelineOf(const RunRecord& run, std::size_t updates) {
  RunTimeline timeline;
  const std::size_t shown = std::min(updates, run.trainings.size());
  if (shown == 0) return timeline;
  const std::size_t first = run.trainings.size() - shown;
  timeline.shown = {.begin = std::min(run.fills[first].begin, run.trainings[first].begin),
                    .end = run.trainings.back().end};
  for (const auto& [name, intervals, kind] :
       {std::tuple("generator", &run.fills, WorkKind::kGenerate),
        std::tuple("main", &run.trainings, WorkKind::kTrain)}) {
    Lane lane{.name = name, .work = {}};
    for (std::size_t i = first; i < intervals->size(); ++i) {
      lane.work.push_back({.when = (*intervals)[i], .kind = kind});
    }
    timeline.lanes.push_back(std::move(lane));
  }
  return timeline;
}

std::string LaneElement(const Lane& lane, const Interval& shown) {
  constexpr double kHeight = 16;
  Svg svg(kPixels, kHeight);
  const Axis to_x(shown.begin, shown.end, 0, kPixels);
  for (const Lane::Work& work : lane.work) {
    const auto* const style = std::ranges::find(kWorkStyles, work.kind, &WorkStyle::kind);
    const double from = std::max(0.0, to_x(work.when.begin));
    const double to = std::min(kPixels, to_x(work.when.end));
    if (to > from) svg.Bar({from, 0}, to - from, kHeight, style->colour, style->name);
  }
  return svg.Strip(lane.name);
}

double Overlap(const std::vector<Interval>& intervals, const Interval& window) {
  double seconds = 0;
  auto next = std::ranges::lower_bound(intervals, window.begin, {}, &Interval::end);
  for (; next != intervals.end() && next->begin < window.end; ++next) {
    seconds += std::min(next->end, window.end) - std::max(next->begin, window.begin);
  }
  return seconds;
}

Chart BusyChart(const RunRecord& run) {
  Series generating{.name = "generating", .colour = kColours[4], .stroke = Stroke::kTraining};
  Series training{.name = "training", .colour = kColours[0], .stroke = Stroke::kTraining};
  // Each point costs a look at all work in it, which may be all work of the run.
  const std::size_t step = (run.curve.size() + kMaxPoints - 1) / kMaxPoints;
  for (std::size_t i = 0; i < run.curve.size(); i += step) {
    const Interval update{.begin = i == 0 ? 0 : run.curve[i - 1].seconds,
                          .end = run.curve[i].seconds};
    const double seconds = update.end - update.begin;
    if (seconds <= 0) continue;
    const auto x = static_cast<double>(i + 1);
    generating.points.push_back({x, 100 * Overlap(run.fills, update) / seconds});
    training.points.push_back({x, 100 * Overlap(run.trainings, update) / seconds});
  }
  return {.name = "% of each update's time",
          .x_name = "updates",
          .across = {.least = 0, .most = static_cast<double>(run.curve.size())},
          .series = {std::move(generating), std::move(training)},
          .up = Range{.least = 0, .most = 100}};
}

}  // namespace tandem
