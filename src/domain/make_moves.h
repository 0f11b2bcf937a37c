// Makes moves that a user has written.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "tandem/domain.h"

namespace tandem {

/// Makes moves, given in the notation of the puzzle, in `state`, and returns them. `start` is the
/// text that `state` was read from, "" if there is none. Throws InputError that names the first
/// move that is unknown or does not apply.
std::vector<Action> MakeMoves(const Domain& domain, std::string_view moves, std::string_view start,
                              std::span<std::uint8_t> state);

}  // namespace tandem
