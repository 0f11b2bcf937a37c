// The states that a network is validated on.
#pragma once

#include <cstdint>
#include <vector>

#include "config/train_config.h"
#include "tandem/domain.h"

namespace tandem {

/// States that are known to be at most so many actions from the goal. Not trained on, save by
/// chance: training draws from random numbers of its own.
struct ValidationSet {
  std::vector<std::uint8_t> states;   ///< n x state_size
  std::vector<std::int64_t> lengths;  ///< n: of the scramble, or, from a file, of a shortest way
  std::vector<float> costs;           ///< n: of the way back, or `optimal` times the least cost

  ConstRows rows() const { return {states.data(), lengths.size(), states.size() / lengths.size()}; }
};

/// The first `validation.states` of `validation.file`, each of which must tell `optimal`; without a
/// file that many scrambles of a fixed seed, the same for every run on a domain with this
/// max_scramble: scramble i has 1 + i mod max_scramble actions. Throws InputError that names the
/// file and line of what it cannot use.
ValidationSet MakeValidationSet(const Domain& domain, const TrainConfig& config);

}  // namespace tandem
