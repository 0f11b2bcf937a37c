#include "generate/row_ranges.h"

#include "base/fault_point.h"
#include "base/parallel.h"
#include "base/random.h"

namespace tandem {

void FillRanges(tbb::task_arena& arena, const RowRanges& ranges, const StopSignal& stop,
                const std::function<void(RowRange)>& fill) {
  arena.execute([&] {
    ForRanges(static_cast<std::size_t>(ranges.size()), 1,
              [&](std::size_t first, std::size_t count) {
                for (std::size_t i = first; i < first + count; ++i) {
                  if (stop.Reached()) throw Stopped();
                  FaultPoint(Fault::kSimulator);
                  fill(ranges[static_cast<std::int64_t>(i)]);
                }
              });
  });
}

Action DrawAction(const DomainSpec& spec, std::uint64_t seed, std::int64_t update,
                  std::int64_t row) {
  Random random(seed, Purpose::kAction, update, row);
  return static_cast<Action>(random.Below(static_cast<std::uint64_t>(spec.num_actions())));
}

}  // namespace tandem
