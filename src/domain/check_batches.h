// The promises of the conformance suite that are about batches. Each returns what breaks it, or "".
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

/// Calls everything from `workers` threads at once.
std::string CheckThreads(const Samples& samples, int workers);

}  // namespace tandem
