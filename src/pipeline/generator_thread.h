// The generator thread and the two buffers it fills.
#pragma once

#include <cstdint>

#include "base/stop_signal.h"
#include "base/stopwatch.h"
#include "base/worker.h"
#include "buffer/double_buffer.h"
#include "generate/generator.h"

namespace tandem {

/// The name of its thread, in traces and accounts.
inline constexpr const char* kGeneratorThread = "generator";

struct FillStats {
  Stopwatch::Clock::time_point began;
  double seconds = 0;  ///< in Generator::Fill
  double wait_s = 0;   ///< the generator thread's idle time before it
};

/// Runs fills on a thread of its own, one at a time. Start and Wait are called from one thread.
class GeneratorThread {
 public:
  struct Filled {
    DoubleBuffer::ReadSlot lease;
    FillStats stats;
  };

  /// `generator` and `stop`, which ends fills early, must outlive this.
  GeneratorThread(Generator& generator, const Schema& schema, std::int64_t rows,
                  const StopSignal& stop);

  /// Has a fill in hand end soon, and waits for its end. What it wrote is dropped: random numbers
  /// are keyed by row, so that the same fill can be asked for again.
  ~GeneratorThread();
  GeneratorThread(const GeneratorThread&) = delete;
  GeneratorThread& operator=(const GeneratorThread&) = delete;

  /// Asks for buffer `update` and returns at once.
  void Start(std::int64_t update);

  /// Waits for the oldest buffer that was started and not yet waited for. Throws what its fill
  /// threw.
  Filled Wait();

 private:
  DoubleBuffer::WriteSlot AcquireWrite();
  void Fill(std::int64_t update);

  Generator& generator_;
  const std::int64_t rows_;
  StopSignal stop_;
  DoubleBuffer buffers_;

  // Written by the generator thread before it publishes a buffer, read after that buffer was
  // acquired, and not written again before the next Start: the hand-over orders them.
  FillStats last_fill_;
  Stopwatch idle_;  // the generator thread's own

  Worker thread_;  // last: it uses everything above
};

}  // namespace tandem
