// Splits the rows of a fill into chunks of fixed size.
#pragma once

#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_group.h>

#include <algorithm>
#include <cstdint>

#include "base/parallel.h"
#include "base/stop_signal.h"
#include "base/timeline.h"

namespace tandem {

/// Chunk is a range of rows of a fill.
struct Chunk {
  std::int64_t first = 0;  ///< index of the first row, counted from 0 in each fill
  std::int64_t rows = 0;
};

/// Chunks divides `rows` rows into chunks of `chunk_rows` rows; the last one may be shorter. The
/// number of workers plays no part, so the network sees the same batches with any number of them.
class Chunks {
 public:
  Chunks(std::int64_t rows, std::int64_t chunk_rows) : rows_(rows), chunk_rows_(chunk_rows) {}

  std::int64_t size() const { return (rows_ + chunk_rows_ - 1) / chunk_rows_; }

  Chunk operator[](std::int64_t i) const {
    const std::int64_t first = i * chunk_rows_;
    return {.first = first, .rows = std::min(chunk_rows_, rows_ - first)};
  }

 private:
  std::int64_t rows_;
  std::int64_t chunk_rows_;
};

/// PipelinedLoop runs a loop in which workers prepare turn i + 1 while the calling thread evaluates
/// turn i. The calling thread counts as one of the workers and helps to prepare once its evaluation
/// is done. With a single worker, preparation and evaluation therefore alternate.
class PipelinedLoop {
 public:
  explicit PipelinedLoop(int workers) : arena_(workers) {}

  /// For each turn i, calls prepare(i) in the arena and then evaluate(i) on the calling thread.
  /// prepare(i) starts after evaluate(i - 2) has returned and runs at the same time as
  /// evaluate(i - 1), so two sets of memory are enough: one for even turns and one for odd turns.
  /// Throws Stopped once `stop` is reached, and whatever `prepare` or `evaluate` throws.
  template <class Prepare, class Evaluate>
  void Run(std::int64_t count, const StopSignal& stop, const Prepare& prepare,
           const Evaluate& evaluate) {
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
        evaluate(i);
      } catch (...) {
        finish_preparing();  // the tasks refer to objects of this frame and of the caller
        throw;
      }
    }
  }

 private:
  tbb::task_arena arena_;
};

}  // namespace tandem
