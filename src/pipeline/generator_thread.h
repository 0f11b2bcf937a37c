// The generator thread and the two buffers it fills.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/stop_signal.h"
#include "base/stopwatch.h"
#include "base/worker.h"
#include "data/double_buffer.h"
#include "generate/generator.h"
#include "pipeline/inference_queue.h"

namespace tandem {

/// The name of the arrow in traces that leads from the fill of a buffer to the training on it.
inline constexpr std::string_view kRowsArrow = "rows";

/// The name of the thread in traces and in the run's time profile.
inline constexpr const char* kGeneratorThread = "generator";

/// FillStats says when a fill began, how long it took, and how its searches went. The fill of an
/// update that needed none has no length and begins with the update.
struct FillStats {
  Stopwatch::Clock::time_point began;
  double seconds = 0;  ///< time in Generator::Fill
  double wait_s = 0;   ///< idle time of the generator thread before this fill
  std::optional<std::int64_t> longest_scramble;  ///< FillRequest::longest_scramble
  std::optional<double> searches_solved;         ///< Generator::searches_solved
};

/// GeneratorThread runs fills on its own thread, one at a time, into the two buffers of a
/// DoubleBuffer. Call Start and Wait from one thread, in turn.
class GeneratorThread {
 public:
  struct Filled {
    DoubleBuffer::ReadSlot slot;
    FillStats stats;
  };

  /// Fills buffers of `rows` rows, the part of rank `rank` if several processes fill the rows of an
  /// update together. `queue` learns of the end of each fill; it is null except in sync_main.
  /// `stop` ends fills early. `interrupter`, if there is one, ends the waits for buffers and for
  /// the queue. All must outlive this object.
  GeneratorThread(Generator& generator, std::int64_t rows, InferenceQueue* queue,
                  const StopSignal& stop, Interrupter* interrupter = nullptr,
                  std::int64_t rank = 0);

  /// Stops the running fill, if any, and waits until it has ended. Its rows are discarded. Random
  /// numbers are keyed by row, so a later fill of the same update makes the same rows again.
  ~GeneratorThread();
  GeneratorThread(const GeneratorThread&) = delete;
  GeneratorThread& operator=(const GeneratorThread&) = delete;

  /// Starts the fill of buffer `update` and returns at once. `longest_scramble` is that of the
  /// FillRequest.
  void Start(std::int64_t update, std::optional<std::int64_t> longest_scramble);

  /// Waits for the fill that was started. Throws what the fill threw.
  Filled Wait();

 private:
  DoubleBuffer::WriteSlot AcquireWrite();
  void Fill(const FillRequest& request);

  Generator& generator_;
  const std::int64_t rows_;
  const std::int64_t first_row_;
  InferenceQueue* const queue_;
  StopSignal stop_;
  DoubleBuffer buffers_;

  // Needs no lock, because the hand-over of the buffer orders the accesses: the generator thread
  // writes it before it commits a buffer, Wait reads it after it has acquired that buffer, and
  // the generator thread does not write it again before the next Start.
  FillStats last_fill_;
  Stopwatch idle_;  // used by the generator thread only

  std::optional<Interrupter::Registration> registration_;

  Worker thread_;  // declared last, so that it ends before the members that it uses
};

}  // namespace tandem
