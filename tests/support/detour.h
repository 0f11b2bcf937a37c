// Solutions that are longer than they need to be.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/random.h"
#include "domain/random_walk.h"
#include "support/small_puzzles.h"

namespace tandem {

/// A random walk away from the goal, and the way back.
struct Detour {
  Detour(const Domain& domain, int moves, std::uint64_t number)
      : start(static_cast<std::size_t>(domain.spec().state_size)) {
    RandomWalk walk(domain, Random(9, Purpose::kScramble, 0, number), start);
    for (int i = 0; i < moves; ++i) {
      walk.Step();
      solution.insert(solution.begin(), *walk.back());
    }
  }

  State start;
  std::vector<Action> solution;
};

}  // namespace tandem
