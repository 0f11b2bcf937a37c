// The page that `tandem report` writes: one HTML file that shows a run, with a timeline of when its
// threads worked and when they waited.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "report/chart.h"
#include "report/evaluation.h"
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

/// Returns a chart over the updates: the shares of each update's time in which the generator
/// worked, and in which the main thread trained. An update's time begins with the end of the one
/// before it.
Chart BusyChart(const RunRecord& run);

/// SolvedPuzzle is a solution to step through.
struct SolvedPuzzle {
  struct Frame {
    std::string svg;      ///< picture of the state (ToSvg)
    std::string caption;  ///< the move that led to it, and the network's estimate
  };
  std::string description;  ///< one sentence
  std::vector<Frame> frames;
};

/// ReportPage holds what the page shows. Text is plain; ReportHtml escapes it.
struct ReportPage {
  std::string title;
  std::vector<std::pair<std::string, std::string>> facts;  ///< name and value
  std::string finding;                                     ///< a sentence: whether it learned
  std::vector<Chart> learning;
  std::vector<Chart> values;  ///< estimates against known lengths
  std::string values_note;    ///< which states the values are of
  std::string bottleneck;     ///< a sentence
  Chart busy;
  RunTimeline timeline;
  std::string timeline_note;
  SolvedPuzzle puzzle;
  std::string puzzle_note;  ///< if there are no frames: why, and what to do
};

/// Returns a complete HTML page, which loads nothing from elsewhere.
std::string ReportHtml(const ReportPage& page);

/// Returns a chart of the mean estimate of each known length, beside the exact line, and a chart of
/// the share solved. The second has points even if the network is a policy. Requires `known`.
std::vector<Chart> ValueCharts(const KnownLengthFigures& known);

/// Returns a chart of the error of the estimates in the last validation, for each length. Without a
/// validation it has no points.
Chart ErrorChart(const RunRecord& run);

}  // namespace tandem
