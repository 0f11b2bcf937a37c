// Loops over TBB's threads.
#pragma once

#include <oneapi/tbb/blocked_range.h>
#include <oneapi/tbb/parallel_for.h>

#include <cstddef>

namespace tandem {

/// Calls work(first, count) for ranges of about `grain` that together make 0..size, from any thread
/// of the arena. One range is done on the spot: starting a task costs as much as a few states.
template <class Work>
void ForRanges(std::size_t size, std::size_t grain, const Work& work) {
  using Range = tbb::blocked_range<std::size_t>;
  if (size <= grain) {
    if (size > 0) work(std::size_t{0}, size);
    return;
  }
  tbb::parallel_for(Range(0, size, grain),
                    [&](const Range& range) { work(range.begin(), range.size()); });
}

}  // namespace tandem
