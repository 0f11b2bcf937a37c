// Checks the estimates of a network.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include "tandem/domain.h"

namespace tandem {

/// Throws Error that names the state if an estimate is NaN. Every comparison with a NaN is false,
/// so min and max would drop it silently. `state_of(i)` must return the state that values[i]
/// belongs to; the result must stay valid until the next call.
void CheckEstimates(const Domain& domain, std::span<const float> values,
                    const std::function<std::span<const std::uint8_t>(std::size_t)>& state_of);

}  // namespace tandem
