// Middle and spread of a few measurements.
#pragma once

#include <span>

namespace tandem {

struct Spread {
  double median = 0;
  double least = 0;
  double most = 0;

  bool Holds(double value) const { return least <= value && value <= most; }
};

/// Of one value or more.
Spread SpreadOf(std::span<const double> values);

}  // namespace tandem
