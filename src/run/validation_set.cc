#include "run/validation_set.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/json.h"
#include "base/random.h"
#include "domain/random_walk.h"
#include "run/states_file.h"
#include "tandem/error.h"

namespace tandem {
namespace {

constexpr std::uint64_t kSeed =
    0;  // not the run's seed, so that results of different runs are comparable

ValidationSet Scrambles(const Domain& domain, std::int64_t count, std::int64_t max_scramble) {
  ValidationSet validation_set;
  const auto state_size = static_cast<std::size_t>(domain.spec().state_size);
  const auto size = static_cast<std::size_t>(count);
  validation_set.states.resize(size * state_size);
  const Rows states(validation_set.states.data(), size, state_size);
  for (std::size_t i = 0; i < size; ++i) {
    const auto number = static_cast<std::int64_t>(i);
    // If there are fewer states than lengths, spread the states over all lengths.
    const std::int64_t length =
        count < max_scramble ? (number + 1) * max_scramble / count : 1 + number % max_scramble;
    validation_set.lengths.push_back(length);
    RandomWalk walk(domain, Random(kSeed, Purpose::kValidation, 0, i), states[i]);
    for (std::int64_t step = 0; step < length; ++step) walk.Step();
    validation_set.costs.push_back(walk.cost_back());
  }
  return validation_set;
}

ValidationSet FromFile(const Domain& domain, const std::string& path, std::int64_t count) {
  ValidationSet validation_set;
  const float least_cost = *std::ranges::min_element(domain.spec().action_costs);
  for (const Problem& line : ReadStates(path, domain, count)) {
    if (!line.error.empty()) throw InputError(line.error);
    if (!line.optimal) {
      throw InputError(
          fmt::format("{}: the state {} has no `optimal`, the length of a shortest solution, which "
                      "every state of validation.file needs",
                      path, DumpJson(line.id)));
    }
    validation_set.states.insert(validation_set.states.end(), line.state.begin(), line.state.end());
    validation_set.lengths.push_back(*line.optimal);
    validation_set.costs.push_back(static_cast<float>(*line.optimal) * least_cost);
  }
  return validation_set;
}

}  // namespace

ValidationSet MakeValidationSet(const Domain& domain, const TrainConfig& config) {
  const ValidationConfig& validation = config.validation;
  if (validation.file.empty()) {
    return Scrambles(domain, validation.states, config.generate.max_scramble);
  }
  return FromFile(domain, validation.file, validation.states);
}

}  // namespace tandem
