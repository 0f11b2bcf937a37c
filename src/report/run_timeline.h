// When the threads of a run worked and when they waited.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "report/chart.h"
#include "report/run_record.h"

namespace tandem {

/// The kinds of work that a timeline tells apart by colour.
enum class WorkKind : std::uint8_t { kGenerate, kBatches, kTrain, kOther, kWait };

/// WorkStyle says how a kind of work is shown.
struct WorkStyle {
  WorkKind kind;
  const char* name;
  const char* colour;
};

/// The kinds in the order of a legend.
inline constexpr std::array<WorkStyle, 5> kWorkStyles = {
    {{WorkKind::kGenerate, "generating examples", kColours[4]},
     {WorkKind::kBatches, "making batches", kColours[2]},
     {WorkKind::kTrain, "training", kColours[0]},
     {WorkKind::kOther, "validation, checkpoints and other work", kColours[3]},
     {WorkKind::kWait, "waiting", "#dddddd"}}};

/// Lane is what one thread, or one stream of a GPU, did.
struct Lane {
  struct Work {
    Interval when = {};
    WorkKind kind = WorkKind::kOther;
  };
  std::string name;
  std::vector<Work> work;  ///< sorted, without overlaps
};

/// RunTimeline holds the lanes of a part of a run.
struct RunTimeline {
  Interval shown;  ///< seconds since the start of the run
  std::vector<Lane> lanes;
};

/// Reads a trace.json (profile.trace_updates). Of spans inside each other, the innermost count.
/// Throws InputError that names the file if it is not a trace.
RunTimeline ReadTrace(const std::filesystem::path& file);

/// Returns a lane of the generator and a lane of the main thread, from the metrics of the last
/// `updates` updates.
RunTimeline TimelineOf(const RunRecord& run, std::size_t updates);

/// Returns the lane as an <svg> element without text, as wide as the element around it.
std::string LaneElement(const Lane& lane, const Interval& shown);

/// Returns the seconds that `intervals`, which are sorted by their begin and do not overlap, share
/// with `window`.
double Overlap(const std::vector<Interval>& intervals, const Interval& window);

/// Returns a chart over the updates: the share of each update's time in which the generator worked,
/// and in which the main thread trained. An update's time ends with its line in the metrics and
/// begins with the end of the update before it.
Chart BusyChart(const RunRecord& run);

}  // namespace tandem
