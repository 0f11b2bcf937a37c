// Random walks from the goal.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/random.h"
#include "tandem/domain.h"

namespace tandem {

/// Walks one state: each action is uniform among those that apply, less the inverse of the one
/// before, so a walk steps straight back only out of a dead end. Where nothing applies at all, the
/// state stays as it is.
class RandomWalk {
 public:
  /// Starts at a goal, which it writes into `state`. Takes random numbers from `random`.
  RandomWalk(const Domain& domain, Random random, std::span<std::uint8_t> state);

  void Step();

  /// The action that leads straight back; nothing before the first step.
  std::optional<Action> back() const { return forbidden_; }

 private:
  Action DrawAmongAll();
  std::optional<Action> DrawAmongThoseThatApply();

  const Domain& domain_;
  Random random_;
  std::span<std::uint8_t> state_;
  std::optional<Action> forbidden_;    // the inverse of the action before
  std::vector<std::uint8_t> applies_;  // by action; empty where every action applies
};

/// Takes a walk of a length uniform in 0..max_length, which it returns, and leaves its end in
/// `state`.
std::int64_t Scramble(const Domain& domain, Random random, std::int64_t max_length,
                      std::span<std::uint8_t> state);

}  // namespace tandem
