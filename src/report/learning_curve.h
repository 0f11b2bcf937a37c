// Draws how a run learned: the evaluations of its networks, and its own measurements.
#pragma once

#include <vector>

#include "report/chart.h"
#include "report/evaluation.h"
#include "report/run_record.h"

namespace tandem {

/// LearningCurve holds what charts show of one run.
struct LearningCurve {
  std::vector<UpdatePoint> training;       ///< from metrics.jsonl
  std::vector<EvaluatedNetwork> networks;  ///< sorted by the iterations that they were trained for
};

/// Returns charts over the seconds of training: the share of states solved, the mean length of the
/// solutions, the error of the estimates, and the loss. A pale disc marks the network that solves
/// best. Requires the seconds of each network. Without networks, the charts show what the run
/// itself measured.
std::vector<Chart> LearningCharts(const LearningCurve& curve);

}  // namespace tandem
