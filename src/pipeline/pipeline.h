// The modes: in which order buffers are filled and trained on.
//
// Buffers and updates count from 0, and update k trains on each row of buffer k once. w(0) is the
// initial network, and w(k + 1) is the network after update k. With policy lag L, the target
// network that labels buffer k was due for a refresh when the network was w(max(0, k - L)). A
// refresh is skipped if the mean loss of the latest update was above loss_thresh; the target
// network then keeps its older weights.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "base/stop_signal.h"
#include "generate/generator.h"
#include "pipeline/generator_thread.h"
#include "pipeline/target_network_schedule.h"
#include "pipeline/trainer.h"

namespace tandem {

class Labeller;
class InferenceQueue;
class ReplayBuffer;

struct UpdateRecord {
  std::int64_t update = 0;
  std::int64_t lag_updates = 0;         ///< intended policy lag, in updates
  std::int64_t target_age_updates = 0;  ///< actual policy lag; larger if loss_thresh skipped copies
  FillStats fill;                       ///< the fill of this update's buffer
  TrainStats train;
  double wait_for_rows_s = 0;  ///< the main thread's wait for the buffer, including served requests
  double label_s = 0;          ///< sync_main: labelling the rows, including served requests
  double answer_s = 0;         ///< sync_main: serving the searches' requests, in total
  double seconds = 0;          ///< the whole update on the main thread
};

/// Pipeline is the interface of the modes. Call it from the main thread only.
class Pipeline {
 public:
  virtual ~Pipeline() = default;

  /// Runs the next update. Throws what the generator or the trainer threw; afterwards the pipeline
  /// can only be destroyed. Throws Stopped if the stop signal ended the fill that the update waited
  /// for. If the signal ended the training, RunUpdate returns normally and the record counts the
  /// iterations that were done.
  virtual UpdateRecord RunUpdate() = 0;

  /// Changes the number of updates of the run (PipelineOptions::max_updates). Call it between
  /// updates. Requires a number greater than the number of completed updates.
  virtual void EndAt(std::int64_t max_updates) = 0;

  /// The state of the target network that a pipeline needs to resume from here
  /// (PipelineOptions::target). Valid between updates.
  virtual TargetState target() const = 0;
};

struct PipelineOptions {
  std::int64_t rows_per_update = 0;
  std::int64_t max_updates = 0;  ///< updates of the run; no fill starts for a later one
  std::int64_t policy_lag = 1;   ///< 1 in async; 0 or 1 in sequential; 0 in sync_main
  /// Refresh the target network only if the mean loss of the latest update is at most this.
  std::optional<double> loss_thresh;

  /// For a resumed run: the next update, and the result of Pipeline::target() before it. The target
  /// network must have the weights that it had then.
  std::int64_t first_update = 0;
  TargetState target;
};

/// Makes the mode async: it fills buffer k + 1 in the background while it trains on buffer k. The
/// wait for the first fill is the cold start. `generator`, `trainer` and `stop` must outlive the
/// result. Destroying the result discards a running fill; a pipeline that resumes from there makes
/// the same rows again.
std::unique_ptr<Pipeline> MakeAsyncPipeline(Generator& generator, Trainer& trainer,
                                            const Schema& schema, PipelineOptions options,
                                            const StopSignal& stop);

/// Makes the mode sequential: each update fills its buffer, then trains on it. With a policy lag of
/// 1 it does exactly the work of the async pipeline in another order, and so gives the same
/// weights.
std::unique_ptr<Pipeline> MakeSequentialPipeline(Generator& generator, Trainer& trainer,
                                                 const Schema& schema, PipelineOptions options,
                                                 const StopSignal& stop);

/// The objects that only sync_main needs. All must outlive the pipeline.
struct SyncMainComponents {
  InferenceQueue& queue;  ///< carries the generator's requests; serves one pipeline only
  ReplayBuffer& replay;   ///< holds the generator's states
  Labeller& labeller;     ///< labels states with the target network
};

/// Makes the mode sync_main: the network being trained guides the generator's searches. The main
/// thread serves their requests between its iterations, between the chunks that it labels, and
/// while it waits for a buffer. As in async, buffer k + 1 is filled while update k trains. Buffers
/// hold states without labels. Update k draws states from replay and labels them with the target
/// network, which was due for a refresh when the network was w(k).
///
/// The weights that a search sees depend on timing, so two runs with the same seed may differ.
std::unique_ptr<Pipeline> MakeSyncMainPipeline(Generator& generator, Trainer& trainer,
                                               const Schema& examples, PipelineOptions options,
                                               const StopSignal& stop,
                                               SyncMainComponents components);

}  // namespace tandem
