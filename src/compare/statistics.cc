#include "compare/statistics.h"

#include <algorithm>
#include <vector>

namespace tandem {

Spread SpreadOf(std::span<const double> values) {
  std::vector<double> sorted(values.begin(), values.end());
  std::ranges::sort(sorted);
  const std::size_t middle = sorted.size() / 2;
  const double median =
      sorted.size() % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
  return {.median = median, .least = sorted.front(), .most = sorted.back()};
}

}  // namespace tandem
