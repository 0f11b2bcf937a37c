// The interface through which a mode trains the network.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "base/stop_signal.h"
#include "base/stopwatch.h"
#include "buffer/data_buffer.h"

namespace tandem {

/// The name of the arrow in traces that leads from the fill of a buffer to the training on it.
inline constexpr std::string_view kRowsArrow = "rows";

struct TrainStats {
  std::int64_t iterations = 0;  ///< fewer than planned if the run was stopped
  std::int64_t examples = 0;    ///< rows trained on
  double loss = 0;              ///< mean over the iterations
  double learning_rate = 0;     ///< in the last iteration
  Stopwatch::Clock::time_point began;
  double seconds = 0;           ///< total time in Train
  double wait_for_batch_s = 0;  ///< the part of `seconds` that was spent waiting for batches
};

/// Trainer trains the network and copies its weights to the target network. Call it from the main
/// thread only.
class Trainer {
 public:
  virtual ~Trainer() = default;

  /// Copies the network's weights to the target network. No fill may be using the target network.
  virtual void PublishTarget() = 0;

  /// Trains on each of `rows`, the rows of update `update`, once. Blocks until the network has its
  /// new weights. Once `stop` is reached, ends after the current iteration.
  virtual TrainStats Train(std::int64_t update, const DataBuffer& rows, const StopSignal& stop) = 0;

  /// Makes Train call `work` after each iteration. An empty function removes the callback. `work`
  /// may query the network. Train rethrows what `work` throws.
  virtual void BetweenIterations(std::function<void()> work) = 0;
};

}  // namespace tandem
