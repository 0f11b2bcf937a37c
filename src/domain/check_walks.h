// Promises of random walks, as CheckDomain tries them: each says what it found, "" if the promise
// is kept.
#pragma once

#include <string>

#include "domain/samples.h"

namespace tandem {

std::string CheckStepsBack(const Samples& samples);
std::string CheckScrambles(const Samples& samples);
std::string CheckLeaving(const Samples& samples);

}  // namespace tandem
