// Finds keys that were set for nothing.
#pragma once

#include <string>
#include <vector>

#include "config/config.h"
#include "config/load.h"

namespace tandem {

/// Returns a sentence for each key that differs from its default and that another key makes
/// ineffective: "`optimizer.decay: 0.9` has no effect: only
/// `optimizer.schedule: exponential` reads it". Leaves out the keys of validation and prefetching,
/// which are often switched off for a measurement. A key that contradicts another one is an error
/// of LoadConfig instead.
std::vector<std::string> DescribeUnusedKeys(const Config& run);

/// Returns a sentence for each of `overrides` that sets a key of the section `search` which
/// search.method makes ineffective.
std::vector<std::string> DescribeUnusedSearchKeys(const Config& config,
                                                  const std::vector<Override>& overrides);

}  // namespace tandem
