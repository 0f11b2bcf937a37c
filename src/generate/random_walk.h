// Random walks from the goal.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "base/random.h"
#include "tandem/domain.h"

namespace tandem {

/// Walks one state: each action is uniform among all but the inverse of the one before, so a walk
/// never steps straight back.
class RandomWalk {
 public:
  /// Starts at a goal, which it writes into `state`. Takes random numbers from `random`.
  RandomWalk(const Domain& domain, Random random, std::span<std::uint8_t> state);

  void Step();

  /// The action that leads straight back; nothing before the first step.
  std::optional<Action> back() const { return forbidden_; }

 private:
  const Domain& domain_;
  Random random_;
  std::span<std::uint8_t> state_;
  std::optional<Action> forbidden_;
};

}  // namespace tandem
