// The order of work where workers prepare what a network is then asked.
#pragma once

#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_group.h>

#include <cstdint>

#include "base/parallel.h"
#include "base/stop_signal.h"
#include "base/timeline.h"

namespace tandem {

/// Workers prepare turn i + 1 while the calling thread has the network evaluate turn i. One of the
/// workers is the calling thread, which joins the others when its evaluation is done; so with a
/// single worker the two take turns.
class Turns {
 public:
  explicit Turns(int workers) : arena_(workers) {}

  /// For each turn i: prepare(i), in the arena, and then ask(i), on the calling thread. prepare(i)
  /// starts when ask(i - 2) has returned and runs beside ask(i - 1); so two sets of memory do, one
  /// for the even turns and one for the odd. Throws what these throw, and Stopped once `stop` is
  /// reached.
  template <class Prepare, class Ask>
  void Run(std::int64_t count, const StopSignal& stop, const Prepare& prepare, const Ask& ask) {
    Timeline* const timeline = Timeline::Current();
    tbb::task_group preparation;
    const auto start_preparing = [&](std::int64_t i) {
      if (i >= count) return;
      SanitizerRelease(&preparation);
      arena_.execute([&, i] {
        preparation.run([&, i] {
          SanitizerAcquire(&preparation);
          {
            const Attach attach(timeline);
            const Span span(Phase::kGenerate);
            prepare(i);
          }
          SanitizerRelease(&preparation);
        });
      });
    };
    const auto finish_preparing = [&] {
      const Span span(Phase::kWaitForWorkers);
      arena_.execute([&] { preparation.wait(); });
      SanitizerAcquire(&preparation);
    };

    start_preparing(0);
    for (std::int64_t i = 0; i < count; ++i) {
      finish_preparing();
      if (stop.Reached()) throw Stopped();
      start_preparing(i + 1);
      try {
        ask(i);
      } catch (...) {
        finish_preparing();  // it writes into what the caller's frame refers to
        throw;
      }
    }
  }

 private:
  tbb::task_arena arena_;
};

}  // namespace tandem
