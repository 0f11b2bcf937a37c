#include "search/estimates.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tandem/error.h"

namespace tandem {

void CheckEstimates(const Domain& domain, std::span<const float> values,
                    const std::function<std::span<const std::uint8_t>(std::size_t)>& state_of) {
  const auto found = std::ranges::find_if(values, [](float value) { return std::isnan(value); });
  if (found == values.end()) return;
  const auto i = static_cast<std::size_t>(found - values.begin());
  throw Error(fmt::format(
      "the network's estimate of the {} state {} is not a number (NaN), expected a number. Its "
      "training diverged or its weights are damaged. Use an earlier checkpoint, or train with a "
      "lower optimizer.learning_rate.",
      domain.spec().name, domain.FormatState(state_of(i))));
}

}  // namespace tandem
