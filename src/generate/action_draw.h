// Draws the actions that rows label, for heads and targets that label one action per row.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "config/config.h"
#include "tandem/domain.h"

namespace tandem {

/// Draws the action of a row uniformly, for heads and targets that label one action per row.
/// Depends only on the seed and the numbers of the update and of the row.
Action DrawAction(const DomainSpec& spec, std::uint64_t seed, std::int64_t update,
                  std::int64_t row);

/// Returns the actions of `rows` consecutive rows (DrawAction); none if the head takes no action.
std::vector<Action> DrawActions(const DomainSpec& spec, Head head, std::uint64_t seed,
                                std::int64_t update, std::int64_t first_row, std::size_t rows);

}  // namespace tandem
