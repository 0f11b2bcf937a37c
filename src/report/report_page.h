// The page that `tandem report` writes: one HTML file that shows a run.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "report/chart.h"
#include "report/evaluation.h"
#include "report/run_timeline.h"

namespace tandem {

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

/// Returns a complete HTML page. It loads nothing: its style, script and pictures are inside. It is
/// dark if the browser prefers dark colours.
std::string ReportHtml(const ReportPage& page);

/// Returns a chart of the mean estimate of each known length, beside the exact line, and a chart of
/// the share solved. The second has points even if the network is a policy. Requires `known`.
std::vector<Chart> ValueCharts(const KnownLengthFigures& known);

/// Returns a chart of the error of the estimates in the last validation, for each length. Without a
/// validation it has no points.
Chart ErrorChart(const RunRecord& run);

}  // namespace tandem
