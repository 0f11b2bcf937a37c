// Random permutations of positions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include "base/random.h"
#include "tandem/permutation.h"

namespace tandem {

/// Returns `count` permutations of `positions` positions, drawn from `random`.
inline std::vector<Permutation> RandomPermutations(std::size_t count, std::size_t positions,
                                                   Random& random) {
  std::vector<Permutation> permutations(count, Permutation(positions));
  for (Permutation& permutation : permutations) {
    std::iota(permutation.begin(), permutation.end(), std::uint16_t{0});
    PartialShuffle(std::span(permutation), 0, positions, random);
  }
  return permutations;
}

}  // namespace tandem
