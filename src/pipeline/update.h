// What an update consists of: the interface of the code that trains, and the records of what was
// done.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "base/stopwatch.h"
#include "data/data_buffer.h"
#include "pipeline/generator_thread.h"

namespace tandem {

/// TrainStats says what the training of one update did.
struct TrainStats {
  std::int64_t iterations = 0;  ///< fewer than planned if the run was stopped
  std::int64_t examples = 0;    ///< rows trained on
  double loss = 0;              ///< mean over the iterations
  double learning_rate = 0;     ///< in the last iteration
  /// How far the outputs of the target network's copy are from those of the network in fp32, as the
  /// root of the mean square over some rows, when it was last copied. Unset if it was not measured.
  std::optional<double> copy_error;
  Stopwatch::Clock::time_point began;
  double seconds = 0;           ///< total time of the training
  double wait_for_batch_s = 0;  ///< the part of `seconds` that was spent waiting for batches
  double wait_s = 0;  ///< the part of `seconds` in which training waited for shards, a stream or
                      ///< other ranks (ActivityTimes::WaitForOthers)
};

/// TrainPass trains on the rows of one update, one iteration at a time. Destroying it early gives
/// up the remaining batches.
class TrainPass {
 public:
  virtual ~TrainPass() = default;

  /// Does one iteration. Returns false, and does nothing, if no iteration of the update remains.
  virtual bool Step() = 0;

  /// The number of iterations that the run has done, including those of earlier updates.
  virtual std::int64_t iterations_of_run() const = 0;

  /// Ends the training and returns what it did, without the times. Waits until the network has its
  /// new weights. Throws Error that names the iteration if a loss or a weight is not finite.
  virtual TrainStats Finish() = 0;
};

/// Trainer trains the network and copies it to the target network. Call it from the main thread
/// only.
class Trainer {
 public:
  virtual ~Trainer() = default;

  /// Copies the network's weights, or their moving average, to the target network. No fill may be
  /// using the target network.
  virtual void RefreshTarget() = 0;

  /// Begins to train on each of `rows`, the rows of update `update`, once. `rows` must outlive the
  /// result. It is null if no rows are generated. Waits until the first of the other rows are
  /// there.
  virtual std::unique_ptr<TrainPass> Begin(std::int64_t update, const DataBuffer* rows) = 0;
};

/// TrainingHooks are called during an update. An exception that one of them throws ends the update.
struct TrainingHooks {
  /// The rows of an update are there, and its training begins.
  std::function<void()> on_training_start = [] {};

  /// One more iteration is done. `iterations` counts from the start of the run.
  std::function<void(std::int64_t iterations)> on_iteration_end = [](std::int64_t /*iterations*/) {
  };
};

/// LabelStats says how large the labels of an update are: the costs-to-go of a V net, or those of
/// the actions of a Q net, without masked ones.
struct LabelStats {
  double mean = 0;
  double min = 0;
  double max = 0;
};

/// Returns nothing if `rows` has no labels, if all of them are masked, or if they are in a device's
/// memory.
std::optional<LabelStats> LabelStatsOf(const DataBuffer& rows);

/// UpdateRecord says what one update did, and how long its parts took.
struct UpdateRecord {
  std::int64_t update = 0;
  bool complete = false;                ///< did all its iterations; false if the run was stopped
  std::int64_t lag_updates = 0;         ///< intended policy lag, in updates
  std::int64_t target_age_updates = 0;  ///< actual policy lag; larger if refreshes were skipped
  FillStats fill;                       ///< the fill of this update's buffer
  TrainStats train;
  std::optional<LabelStats> labels;  ///< of the rows trained on, without those from shards
  double wait_for_rows_s = 0;  ///< the main thread's wait for the buffer, including served requests
  double label_s = 0;          ///< sync_main: labelling the rows, including served requests
  double serve_s = 0;          ///< sync_main: serving the searches' requests, in total
  double seconds = 0;          ///< the whole update on the main thread
};

}  // namespace tandem
