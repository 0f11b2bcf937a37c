// Statistics of a few values, one for each seed.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

namespace tandem {

/// Spread holds the median and the range of some values.
struct Spread {
  double median = 0;
  double least = 0;
  double most = 0;
};

/// Returns the spread of one or more values.
Spread SpreadOf(std::span<const double> values);

/// Returns nothing if a value is missing.
std::optional<Spread> SpreadOf(std::span<const std::optional<double>> values);

/// Returns the p-value of a paired permutation test: the probability of a mean at least as far from
/// 0 as that of `differences`, if chance alone decides the sign of each difference. Exact up to
/// kExactPairs pairs; beyond that, estimated from a million random choices of signs, with at most
/// 64 pairs.
///
/// With n pairs it is at least 2 / 2^n: 0.5 for 2, 0.25 for 3, 0.0625 for 5. It is 1 if all
/// differences are 0.
double ChanceOf(std::span<const double> differences);

inline constexpr std::size_t kExactPairs = 20;

}  // namespace tandem
