// Makes the states that a network is validated on.
#pragma once

#include <cstdint>
#include <vector>

#include "config/train_config.h"
#include "tandem/domain.h"

namespace tandem {

/// `ValidationSet` holds states with an upper bound of their distance to the goal. Training uses
/// other random numbers, so it meets these states only by chance.
struct ValidationSet {
  std::vector<std::uint8_t> states;   ///< n x state_size
  std::vector<std::int64_t> lengths;  ///< n: length of the scramble, or `optimal` of the file
  std::vector<float> costs;  ///< n: cost of the way back, or `optimal` times the least action cost

  ConstRows rows() const { return {states.data(), lengths.size(), states.size() / lengths.size()}; }
};

/// Returns the first `validation.states` states of `validation.file`; each needs `optimal`. Without
/// a file, returns that many scrambles from a fixed seed, which are the same for every run on a
/// domain with this max_scramble. Scramble i has 1 + i mod max_scramble actions; if there are fewer
/// states than lengths, they are spread over all lengths. Throws InputError that names the file and
/// line of a state that it cannot use.
ValidationSet MakeValidationSet(const Domain& domain, const TrainConfig& config);

}  // namespace tandem
