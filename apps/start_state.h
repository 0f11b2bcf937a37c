// Makes the state that `tandem show` draws and `tandem play` starts from.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "apps/commands.h"
#include "tandem/domain.h"

namespace tandem {

/// Returns the start state that the options describe. Throws InputError if they contradict each
/// other or are not valid for the puzzle.
std::vector<std::uint8_t> StartState(const Domain& domain, const StartArgs& args);

/// Returns the end of a random walk of `steps` steps from a goal. It depends only on `seed` and
/// `number`.
std::vector<std::uint8_t> RandomState(const Domain& domain, std::int64_t steps, std::uint64_t seed,
                                      std::uint64_t number);

/// Parses a state in the notation of the puzzle. Throws InputError if `text` is not a state.
std::vector<std::uint8_t> ReadState(const Domain& domain, const std::string& text);

/// Applies moves, given in the notation of the puzzle, to `state`. Throws InputError that names the
/// first unknown move.
void MakeMoves(const Domain& domain, const std::string& moves, std::vector<std::uint8_t>& state);

}  // namespace tandem
