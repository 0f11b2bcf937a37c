// What the pipeline asks of the side that trains.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "base/stop_signal.h"
#include "base/stopwatch.h"
#include "buffer/data_buffer.h"

namespace tandem {

/// In traces, from the fill of a buffer to the training on it.
inline constexpr std::string_view kRowsArrow = "rows";

struct TrainStats {
  std::int64_t iterations = 0;  ///< fewer than planned if the run was stopped
  std::int64_t examples = 0;    ///< rows trained on
  double loss = 0;              ///< mean over the iterations
  double learning_rate = 0;     ///< of the last iteration
  Stopwatch::Clock::time_point began;
  double seconds = 0;           ///< all of Train
  double wait_for_batch_s = 0;  ///< of which waiting for the batch source
};

/// Trains the network and owns the target network. Called from the main thread alone.
class Trainer {
 public:
  virtual ~Trainer() = default;

  /// Copies the network's weights to the target network. Never called during a fill that asks it.
  virtual void PublishTarget() = 0;

  /// Trains on each row of buffer `update` once. Blocks until the network has its new weights;
  /// ends early, between iterations, once `stop` is reached.
  virtual TrainStats Train(std::int64_t update, const DataBuffer& rows, const StopSignal& stop) = 0;

  /// From now on Train calls `work` after each iteration; nothing if it is empty. It may ask the
  /// network, and whatever it throws leaves Train.
  virtual void BetweenIterations(std::function<void()> work) = 0;
};

}  // namespace tandem
