// Divides the rows of a fill among the workers, and draws the actions that rows label.
#pragma once

#include <oneapi/tbb/task_arena.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "base/fault_point.h"
#include "base/parallel.h"
#include "base/random.h"
#include "base/stop_signal.h"
#include "tandem/domain.h"

namespace tandem {

/// RowRange is a part of the rows of a fill.
struct RowRange {
  std::int64_t first = 0;  ///< index of the first row, counted from 0 in each fill
  std::int64_t rows = 0;
};

/// RowRanges divides `rows` rows into ranges of `range_rows` rows; the last one may be shorter. The
/// number of workers plays no part, so the network sees the same batches with any number of them.
class RowRanges {
 public:
  RowRanges(std::int64_t rows, std::int64_t range_rows) : rows_(rows), range_rows_(range_rows) {}

  /// Divides `rows` rows (or searches) into ranges of at most `most`, and into at least two if
  /// there are two rows, so that one can be expanded while the other is evaluated. Generators that
  /// evaluate the same states must divide them alike, because the last bits of values depend on the
  /// batch size.
  static RowRanges ForOverlap(std::int64_t rows, std::int64_t most) {
    return {rows, std::clamp<std::int64_t>((rows + 1) / 2, 1, most)};
  }

  /// Divides `rows` rows into ranges of about equal length, of `least` rows or more, as far as
  /// there are as many.
  static RowRanges OfAtLeast(std::int64_t rows, std::int64_t least) {
    const std::int64_t ranges = std::max<std::int64_t>(rows / least, 1);
    return {rows, std::max<std::int64_t>((rows + ranges - 1) / ranges, 1)};
  }

  std::int64_t size() const { return (rows_ + range_rows_ - 1) / range_rows_; }

  RowRange operator[](std::int64_t i) const {
    const std::int64_t first = i * range_rows_;
    return {.first = first, .rows = std::min(range_rows_, rows_ - first)};
  }

 private:
  std::int64_t rows_;
  std::int64_t range_rows_;
};

/// The number of states that a task of a generator works on.
inline constexpr std::size_t kStatesPerTask = 64;

/// Calls `fill` for each of `ranges`, on the threads of `arena`, and waits for all of them. Throws
/// Stopped once `stop` is reached, and whatever `fill` throws.
template <class Fill>
void FillRanges(tbb::task_arena& arena, const RowRanges& ranges, const StopSignal& stop,
                const Fill& fill) {
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

/// Draws the action of a row uniformly, for heads and targets that label one action per row.
/// Depends only on the seed and the numbers of the update and of the row.
inline Action DrawAction(const DomainSpec& spec, std::uint64_t seed, std::int64_t update,
                         std::int64_t row) {
  Random random(seed, Purpose::kAction, update, row);
  return static_cast<Action>(random.Below(static_cast<std::uint64_t>(spec.num_actions())));
}

}  // namespace tandem
