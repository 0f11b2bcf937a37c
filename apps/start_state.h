// The state that `tandem show` draws and `tandem play` begins with.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "apps/commands.h"
#include "tandem/domain.h"

namespace tandem {

/// As the options say. Throws InputError that names what is wrong with them.
std::vector<std::uint8_t> StartState(const Domain& domain, const StartArgs& args);

/// The end of a random walk of so many steps from a goal, a function of the seed and `number`.
std::vector<std::uint8_t> RandomState(const Domain& domain, std::int64_t steps, std::uint64_t seed,
                                      std::uint64_t number);

/// Throws InputError that names what is no state.
std::vector<std::uint8_t> ReadState(const Domain& domain, const std::string& text);

/// Makes moves, in the notation of the puzzle. Throws InputError that names the first unknown one.
void MakeMoves(const Domain& domain, const std::string& moves, std::vector<std::uint8_t>& state);

}  // namespace tandem
