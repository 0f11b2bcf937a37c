// The part of the conformance suite that tests calls with many states at once.
#pragma once

#include <string>

#include "domain/sampled_states.h"

namespace tandem {

// Each check returns what is wrong, or "".

/// Checks that Apply, Expand, Encode, Mask and IsGoal give the same results in every call.
std::string CheckDeterminism(const SampledStates& samples);

/// Checks that these methods give the same results for a batch as for single rows, except Expand.
std::string CheckBatches(const SampledStates& samples);

/// Checks that Expand gives the same children as Apply.
std::string CheckExpand(const SampledStates& samples);

/// Checks that these methods write only inside the rows that they are given.
std::string CheckMargins(const SampledStates& samples);

/// Checks that these methods give the same results if `workers` threads call them at once as in a
/// single thread. Starts the threads, and waits for them.
std::string CheckThreads(const SampledStates& samples, int workers);

}  // namespace tandem
