// The conformance checks of random walks. Each returns a description of the first violation, or ""
// if there is none.
#pragma once

#include <string>

#include "domain/samples.h"

namespace tandem {

std::string CheckStepsBack(const Samples& samples);
std::string CheckScrambles(const Samples& samples);
std::string CheckLeaving(const Samples& samples);

}  // namespace tandem
