// The conformance checks of batch methods. Each returns a description of the first violation, or ""
// if there is none.
#pragma once

#include <string>

#include "domain/samples.h"

namespace tandem {

std::string CheckDeterminism(const Samples& samples);
std::string CheckBatches(const Samples& samples);
std::string CheckExpand(const Samples& samples);
std::string CheckMargins(const Samples& samples);
std::string CheckInputs(const Samples& samples);
std::string CheckInjectivity(const Samples& samples);

/// Calls all batch methods from `workers` threads at once, and compares the results with those of a
/// single thread.
std::string CheckThreads(const Samples& samples, int workers);

}  // namespace tandem
