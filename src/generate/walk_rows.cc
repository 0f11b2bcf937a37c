#include "generate/walk_rows.h"

#include "base/random.h"

namespace tandem {

std::int64_t WalkRows::Depth(std::int64_t update, std::int64_t row) const {
  const std::int64_t part = row % rows_per_walk_;
  const std::int64_t first = part * length_ / rows_per_walk_;
  const std::int64_t end = (part + 1) * length_ / rows_per_walk_;
  if (end == first + 1) return end;  // saves drawing a number if all states are rows
  Random random(seed_, Purpose::kDepth, update, row);
  return first + 1 +
         static_cast<std::int64_t>(random.Below(static_cast<std::uint64_t>(end - first)));
}

}  // namespace tandem
