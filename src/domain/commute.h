// Whether the order of a puzzle's actions matters.
#pragma once

#include "tandem/domain.h"

namespace tandem {

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
