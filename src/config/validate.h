// Checks that involve two keys of a config.
#pragma once

#include <functional>
#include <string>

#include "config/config.h"

namespace tandem {

/// Reports that `key` contradicts `other`. `why` says what was expected and what to change. The
/// caller adds both values and where they were set, and throws InputError.
using Contradiction =
    std::function<void(const std::string& key, const std::string& other, const std::string& why)>;

/// Calls `contradiction` for each pair of keys that contradict each other. `contradiction` should
/// throw, so that only the first pair is reported.
void CheckTogether(const Config& config, const Contradiction& contradiction);

}  // namespace tandem
