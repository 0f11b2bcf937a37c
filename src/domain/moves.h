// The goal of a puzzle and its moves.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "tandem/domain.h"

namespace tandem {

/// The goal state that Domain::WriteGoals writes.
inline std::vector<std::uint8_t> GoalOf(const Domain& domain) {
  std::vector<std::uint8_t> goal(static_cast<std::size_t>(domain.spec().state_size));
  domain.WriteGoals(Rows(std::span(goal)));
  return goal;
}

/// Makes moves, given in the notation of the puzzle, in `state`, and returns them. `start` is the
/// text that `state` was read from, "" if there is none. Throws InputError that names the first
/// move that is unknown or does not apply.
std::vector<Action> MakeMoves(const Domain& domain, std::string_view moves, std::string_view start,
                              std::span<std::uint8_t> state);

/// Returns whether all actions commute and each undoes itself, as the buttons of Lights Out do. A
/// state then depends only on which actions were taken an odd number of times, and each of these
/// actions is a first step of a way back. Returns false if some action does not always apply.
///
/// The domain states that each action is its own inverse (DomainSpec::inverse_actions). Whether
/// actions commute is tested for all pairs. For a PermutationDomain, a row of distinct bytes proves
/// it. For other domains, pairs are tested on the ends of 16 random walks, so a puzzle is
/// recognised wrongly if no pair differs on any of these states.
bool CommuteAndUndoThemselves(const Domain& domain);

}  // namespace tandem
