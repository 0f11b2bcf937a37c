// Middle and spread of a few measurements, and what chance alone makes of them.
#pragma once

#include <cstddef>
#include <span>

namespace tandem {

struct Spread {
  double median = 0;
  double least = 0;
  double most = 0;
};

/// Of one value or more.
Spread SpreadOf(std::span<const double> values);

/// The p-value of a paired permutation test: the chance of a mean at least as far from 0 as that of
/// `differences`, if nothing but chance decides which of each pair is the larger. Exact up to
/// kExactPairs pairs, and estimated from a million random choices of signs beyond.
///
/// With n pairs it is never less than 2 / 2^n: 0.5 for 2, 0.25 for 3, 0.0625 for 5. It is 1 where
/// there are no differences.
double ChanceOf(std::span<const double> differences);

inline constexpr std::size_t kExactPairs = 20;

}  // namespace tandem
