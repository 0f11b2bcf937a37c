// Draws how a run learned: the evaluations of its networks, and its own measurements.
#pragma once

#include <string>
#include <vector>

#include "report/chart.h"
#include "report/evaluation.h"
#include "report/run_record.h"

namespace tandem {

/// What the horizontal axis of a learning curve shows.
enum class CurveAxis { kSeconds, kExamples };

/// LearningCurve holds what a figure shows of one run.
struct LearningCurve {
  std::string title;
  std::vector<UpdatePoint> training;       ///< from metrics.jsonl
  std::vector<EvaluatedNetwork> networks;  ///< sorted by the iterations that they were trained for
  CurveAxis axis = CurveAxis::kSeconds;
};

/// Returns charts over the seconds or the examples of training: the share of states solved, the
/// mean length of the solutions, the error of the estimates, and the loss. Requires the examples
/// and seconds of each network. Without networks, they show what the run itself measured.
std::vector<Chart> LearningCharts(const LearningCurve& curve);

/// Returns an SVG with the four charts as panels. A pale disc marks the network that solves best.
/// Requires at least one network, and of each the examples and seconds.
std::string LearningCurveFigure(const LearningCurve& curve);

}  // namespace tandem
