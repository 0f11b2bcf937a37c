// The goal of a puzzle as a state of its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "tandem/domain.h"

namespace tandem {

/// The goal state that Domain::WriteGoals writes.
inline std::vector<std::uint8_t> GoalOf(const Domain& domain) {
  std::vector<std::uint8_t> goal(static_cast<std::size_t>(domain.spec().state_size));
  domain.WriteGoals(Rows(std::span(goal)));
  return goal;
}

}  // namespace tandem
