// What no single key of a config can tell.
#pragma once

#include <functional>
#include <string>

#include "config/train_config.h"

namespace tandem {

/// Throws InputError that tells the values of two keys, where they stand, and why they contradict
/// each other.
using Contradiction =
    std::function<void(const std::string& key, const std::string& other, const std::string& why)>;

/// Calls `contradiction` for the first that it finds.
void CheckTogether(const TrainConfig& config, const Contradiction& contradiction);

}  // namespace tandem
