// Parallel loops on TBB threads.
#pragma once

#include <oneapi/tbb/blocked_range.h>
#include <oneapi/tbb/parallel_for.h>

#include <cstddef>

#include "base/timeline.h"

#ifdef __SANITIZE_THREAD__
#include <sanitizer/tsan_interface.h>
#endif

namespace tandem {

// Tell the thread sanitizer that everything before SanitizerRelease(x) happens before everything
// after SanitizerAcquire(x). TBB guarantees this between a loop and its tasks, but the sanitizer
// cannot see it if TBB was not built with it.
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

/// Calls work(first, count) for ranges that together cover [0, size), on any thread of the caller's
/// arena, and waits for all of them. A range has at least grain / 2 elements, and usually more if
/// there are few threads. If `size` is at most `grain`, the calling thread does all the work
/// itself, because starting a task costs as much as a few states. Throws what `work` throws.
///
/// In the calling thread's timeline, the work counts as the activity that the caller is in. The
/// caller itself is in kWaitForWorkers while it works on none of the ranges.
template <class Work>
void ForRanges(std::size_t size, std::size_t grain, const Work& work) {
  using Range = tbb::blocked_range<std::size_t>;
  if (size <= grain) {
    if (size > 0) work(std::size_t{0}, size);
    return;
  }
  Timeline* const timeline = Timeline::Current();
  const Activity activity = Timeline::CurrentActivity();
  const Span waiting(Activity::kWaitForWorkers);
  SanitizerRelease(&work);
  tbb::parallel_for(Range(0, size, grain), [&](const Range& range) {
    SanitizerAcquire(&work);
    {
      const Attach attach(timeline);
      const Span span(activity);
      work(range.begin(), range.size());
    }
    SanitizerRelease(&work);
  });
  SanitizerAcquire(&work);
}

/// Calls work(i) for each i in [0, size), each in a TBB task. For large work: a step of a search.
template <class Work>
void ForEach(std::size_t size, const Work& work) {
  ForRanges(size, 1, [&](std::size_t first, std::size_t count) {
    for (std::size_t i = first; i < first + count; ++i) work(i);
  });
}

}  // namespace tandem
