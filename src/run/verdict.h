// What the validations of a run say in words.
#pragma once

#include <string>

#include "config/train_config.h"
#include "run/checkpoint.h"

namespace tandem {

/// Whether labels come from the network itself, so that the loss rises as targets grow while the
/// network improves.
bool HasGrowingTargets(const TrainConfig& config);

/// The name in JSON of ValidationResult::value_error: "value_error" where `validation.file` tells
/// the optimal lengths, else "walk_length_error".
std::string ErrorKey(const TrainConfig& config);

/// ", error against walk lengths 2.49". Empty where walks overestimate the costs that the network
/// learns, so that the error says little.
std::string DescribeError(double error, const TrainConfig& config);

/// A sentence that says whether the network is learning: its validation states solved by greedy
/// descent against those solved before training.
std::string DescribeLearning(const RunCounters& run, const TrainConfig& config);

}  // namespace tandem
