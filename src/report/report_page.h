// The page that `tandem report` writes: one HTML file that shows a run.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "report/chart.h"
#include "report/evaluation.h"
#include "report/run_record.h"

namespace tandem {

/// Returns charts over the seconds of training: the share of states solved, the mean length of the
/// solutions, the error of the estimates, and the loss. A pale disc marks the network that solves
/// best. Requires the seconds of each network. Without networks, the charts show what the run
/// itself measured.
std::vector<Chart> LearningCharts(std::span<const UpdatePoint> training,
                                  std::span<const EvaluatedNetwork> networks);

/// Returns an <svg> element that shows when the run generated and when it trained, in its last
/// `updates` updates. Without an update, returns "".
std::string OverlapElement(const RunRecord& run, std::size_t updates);

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
  std::string overlap;  ///< of OverlapElement
  std::string overlap_note;
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
