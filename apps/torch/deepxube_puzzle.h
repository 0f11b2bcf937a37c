// Tandem's puzzles as DeepXube's networks read them.
#pragma once

#include "nn/deepxube_weights.h"
#include "tandem/domain.h"

namespace tandem {

/// Returns how DeepXube feeds the puzzle to its networks. Throws InputError that says why if a
/// network for one cannot give the numbers of a network for the other.
DeepXubePuzzle DeepXubePuzzleFor(const DomainSpec& spec);

}  // namespace tandem
