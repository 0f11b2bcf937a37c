// Leaves out the actions of a solution that it does not need.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tandem/domain.h"

namespace tandem {

/// Returns `actions` without detours; they lead from `start` to the same state as before. A detour
/// is a part that ends in the state where it began. An action is also a detour if the solution
/// without it soon meets one of its own later states, as when two presses of a button in Lights Out
/// have other presses between them. Only the 256 actions after an action are looked at.
///
/// The time grows in proportion to the length of the solution. There is no search, so parts that
/// other actions could replace stay.
std::vector<Action> WithoutDetours(const Domain& domain, std::span<const std::uint8_t> start,
                                   const std::vector<Action>& actions);

}  // namespace tandem
