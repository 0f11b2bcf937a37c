#include "pipeline/update.h"

#include <algorithm>
#include <limits>
#include <span>

#include "data/examples.h"

namespace tandem {

std::optional<LabelStats> LabelStatsOf(const DataBuffer& rows) {
  if (rows.schema().columns.size() <= kTargetColumn) return std::nullopt;
  if (rows.memory() == Memory::kDevice) return std::nullopt;
  const std::span<const float> labels = rows.floats(kTargetColumn);
  const std::span<const float> weights =
      HasWeights(rows.schema()) ? rows.floats(kWeightColumn) : std::span<const float>();
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  LabelStats stats{.min = kInfinity, .max = -kInfinity};
  double sum = 0;
  std::int64_t count = 0;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    if (!weights.empty() && weights[i] == 0) continue;
    const double label = labels[i];
    sum += label;
    stats.min = std::min(stats.min, label);
    stats.max = std::max(stats.max, label);
    ++count;
  }
  if (count == 0) return std::nullopt;
  stats.mean = sum / static_cast<double>(count);
  return stats;
}

}  // namespace tandem
