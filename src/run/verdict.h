// Describes the validations of a run in words.
#pragma once

#include <string>

#include "config/train_config.h"
#include "run/checkpoint.h"

namespace tandem {

/// Returns whether the network labels the examples itself. The loss can then rise while the network
/// improves, because the targets grow.
bool HasGrowingTargets(const TrainConfig& config);

/// Returns the JSON name of ValidationResult::value_error: "value_error" if `validation.file` gives
/// the optimal lengths, else "walk_length_error".
std::string ErrorKey(const TrainConfig& config);

/// Returns ", error against walk lengths 2.49". Returns "" for value iteration without a validation
/// file, because walks then overestimate the costs that the network learns and the error says
/// little.
std::string DescribeError(double error, const TrainConfig& config);

/// Returns a sentence that says whether the network is learning. Compares the share of validation
/// states that greedy descent solves with the share before training.
std::string DescribeLearning(const RunCounters& run, const TrainConfig& config);

}  // namespace tandem
