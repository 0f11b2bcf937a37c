// Checks of whole configs: keys that contradict each other, and keys that have no effect.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "config/config.h"
#include "config/load.h"

namespace tandem {

/// Reports that `key` contradicts `other`. `why` says what was expected and what to change. The
/// caller adds both values and where they were set, and throws InputError.
using Contradiction =
    std::function<void(const std::string& key, const std::string& other, const std::string& why)>;

/// Calls `contradiction`, which must throw, for the first pair of keys that contradict each other.
void Validate(const Config& config, const Contradiction& contradiction);

/// Throws InputError that names a key with which several ranks cannot train together, and says why.
/// All other keys decide what happens from the seed, the number of the update, or values that are
/// the same in all ranks.
void CheckRanks(const Config& config);

/// Returns a sentence for each key that differs from its default and that another key makes
/// ineffective: "`optimizer.decay: 0.9` has no effect: only `optimizer.schedule: exponential` reads
/// it". Leaves out the keys of validation and prefetching, which are often switched off for a
/// measurement. A key that contradicts another one is an error of LoadConfig instead.
std::vector<std::string> DescribeUnusedKeys(const Config& run);

/// Returns a sentence for each of `overrides` that sets a key of the section `search` which
/// search.method makes ineffective.
std::vector<std::string> DescribeUnusedSearchKeys(const Config& config,
                                                  const std::vector<Override>& overrides);

}  // namespace tandem
