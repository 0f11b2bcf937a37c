// What may not be an estimate.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include "tandem/domain.h"

namespace tandem {

/// Throws Error that names the state if an estimate is not a number (NaN). Every comparison with a
/// NaN is false, so that min and max would drop it without a word. `state_of(i)` is the state that
/// values[i] belongs to; it stays in memory until its next call.
void CheckEstimates(const Domain& domain, std::span<const float> values,
                    const std::function<std::span<const std::uint8_t>(std::size_t)>& state_of);

}  // namespace tandem
