// Loops over TBB's threads.
#pragma once

#include <oneapi/tbb/blocked_range.h>
#include <oneapi/tbb/parallel_for.h>

#include <cstddef>

#include "base/timeline.h"

#ifdef __SANITIZE_THREAD__
#include <sanitizer/tsan_interface.h>
#endif

namespace tandem {

// What was done before SanitizerRelease(x) is seen after SanitizerAcquire(x): TBB sees to that
// between a loop and its tasks, but the thread sanitizer must be told where TBB is not built with
// it.
inline void SanitizerRelease([[maybe_unused]] const void* x) {
#ifdef __SANITIZE_THREAD__
  __tsan_release(const_cast<void*>(x));
#endif
}
inline void SanitizerAcquire([[maybe_unused]] const void* x) {
#ifdef __SANITIZE_THREAD__
  __tsan_acquire(const_cast<void*>(x));
#endif
}

/// Calls work(first, count) for ranges that together make 0..size, of at least half of `grain` and
/// as a rule more where there are few threads, from any thread of the arena. What is no more than
/// `grain` is done on the spot: starting a task costs as much as a few states.
/// On the timeline of the calling thread, the ranges are of the phase that it is in, and it waits
/// for workers whenever it does none of them.
template <class Work>
void ForRanges(std::size_t size, std::size_t grain, const Work& work) {
  using Range = tbb::blocked_range<std::size_t>;
  if (size <= grain) {
    if (size > 0) work(std::size_t{0}, size);
    return;
  }
  Timeline* const timeline = Timeline::Current();
  const Phase phase = Timeline::CurrentPhase();
  const Span waiting(Phase::kWaitForWorkers);
  SanitizerRelease(&work);
  tbb::parallel_for(Range(0, size, grain), [&](const Range& range) {
    SanitizerAcquire(&work);
    {
      const Attach attach(timeline);
      const Span span(phase);
      work(range.begin(), range.size());
    }
    SanitizerRelease(&work);
  });
  SanitizerAcquire(&work);
}

}  // namespace tandem
