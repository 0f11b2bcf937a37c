// Whether the order of a puzzle's actions matters.
#pragma once

#include "tandem/domain.h"

namespace tandem {

/// Returns whether all actions commute and each undoes itself, as the buttons of Lights Out. A
/// state then depends only on which actions were taken an odd number of times, and every one of
/// them is a first step of the way back.
///
/// That each action is its own inverse is a fact of the domain (DomainSpec::inverse_actions). That
/// they commute is checked for all pairs: for a PermutationDomain on a row of distinct bytes, which
/// proves it, and for any other domain on the ends of 16 random walks, so that a puzzle is
/// recognised wrongly only if no pair differs on any of them. False if some action does not always
/// apply.
bool CommuteAndUndoThemselves(const Domain& domain);

}  // namespace tandem
