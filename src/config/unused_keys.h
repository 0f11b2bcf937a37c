// Finds keys that were set for nothing.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "config/config.h"

namespace tandem {

/// Returns a sentence for each key that differs from its default and has no effect in any phase of
/// the run: "`optimizer.momentum: 0.9` has no effect: only sgd and muon have momentum". A key that
/// contradicts another one is an error of LoadConfig instead.
std::vector<std::string> DescribeUnusedKeys(const Config& run);

/// Returns a sentence for each of `keys` that search.method makes ineffective. `keys` may hold keys
/// of any section; only those of `search` are looked at.
std::vector<std::string> DescribeUnusedSearchKeys(const Config& config,
                                                  std::span<const std::string> keys);

}  // namespace tandem
