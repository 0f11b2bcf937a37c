// The order in which buffers are filled and trained on.
//
// Buffers and updates count from 0, and update k trains on each row of buffer k once. w0 is the
// initial network, w(k+1) the network after update k. With policy lag L, buffer k is labelled by
// the target network that was offered when the network was w(max(0, k - L)); a network is not
// copied if its last update's mean loss was over loss_thresh.
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
  std::int64_t lag_updates = 0;         ///< how many updates older the labelling network was to be
  std::int64_t target_age_updates = 0;  ///< and was, with loss_thresh
  FillStats fill;                       ///< of this update's buffer
  TrainStats train;
  double wait_for_rows_s = 0;  ///< the main thread's wait for this buffer, answers included
  double label_s = 0;          ///< in sync_main: labelling the rows, answers between included
  double answer_s = 0;         ///< in sync_main: evaluating for searches, here and there
  double seconds = 0;          ///< of the whole update on the main thread
};

/// One of the modes. Called from the main thread alone.
class Pipeline {
 public:
  virtual ~Pipeline() = default;

  /// Runs the next update. Throws what generator or trainer threw, after which the pipeline can
  /// only be destroyed; throws Stopped if the stop signal ended a fill that it waited for. A
  /// training that the signal ended is no exception: its record counts what was done.
  virtual UpdateRecord RunUpdate() = 0;

  /// Sets the number of updates of the run (PipelineOptions::max_updates). Call between updates,
  /// with more than have been done.
  virtual void EndAt(std::int64_t max_updates) = 0;

  /// What a pipeline that is to go on from here must be given. Valid between updates.
  virtual TargetState target() const = 0;
};

struct PipelineOptions {
  std::int64_t rows_per_update = 0;
  std::int64_t max_updates = 0;  ///< no fill starts for an update beyond
  std::int64_t policy_lag = 1;   ///< 1 in async; 0 or 1 in sequential; 0 in sync_main
  std::optional<double>
      loss_thresh;  ///< renew the target network only after a loss of at most this

  /// To go on with a run: the first update to do, and what target() said before it. The target
  /// network must be as it was then.
  std::int64_t first_update = 0;
  TargetState target;
};

/// Fills buffer k + 1 in the background while it trains on buffer k; the first fill is the cold
/// start. `generator`, `trainer` and `stop` must outlive the result. When it goes, a fill in hand
/// is dropped; another pipeline, told to go on from there, makes those rows again.
std::unique_ptr<Pipeline> MakeAsyncPipeline(Generator& generator, Trainer& trainer,
                                            const Schema& schema, PipelineOptions options,
                                            const StopSignal& stop);

/// Fills, then trains. With a policy lag of 1 it does exactly the work of the async pipeline in
/// another order, and so ends in the same weights.
std::unique_ptr<Pipeline> MakeSequentialPipeline(Generator& generator, Trainer& trainer,
                                                 const Schema& schema, PipelineOptions options,
                                                 const StopSignal& stop);

/// What sync_main works with besides. All must outlive the pipeline.
struct SyncMainComponents {
  InferenceQueue& queue;  ///< what the generator asks; for one pipeline alone
  ReplayBuffer& replay;   ///< of the generator's states
  Labeller& labeller;     ///< asks the target network
};

/// Searches are steered by the network in training: the main thread answers the generator between
/// its iterations, between chunks that it labels, and while it waits for a buffer. Meanwhile, as in
/// async, buffer k + 1 is filled while update k trains. Buffers hold states; update k labels those
/// that it samples from replay, by the target network that was offered when the network was w(k).
///
/// Which weights a search met is a matter of timing, so no two runs are alike.
std::unique_ptr<Pipeline> MakeSyncMainPipeline(Generator& generator, Trainer& trainer,
                                               const Schema& examples, PipelineOptions options,
                                               const StopSignal& stop, SyncMainComponents parts);

}  // namespace tandem
