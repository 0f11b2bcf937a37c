// The interface through which a mode trains the network.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "base/stop_signal.h"
#include "base/stopwatch.h"
#include "data/data_buffer.h"
#include "data/replay_buffer.h"
#include "generate/generator.h"
#include "train/generator_thread.h"

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

/// TargetState is the part of a run's state that concerns the target network's refreshes.
struct TargetState {
  std::int64_t offered = 0;    ///< completed updates when a refresh was last due
  std::int64_t published = 0;  ///< completed updates when the network was last copied
  double last_loss = 0;        ///< mean loss of the latest update
};

/// TargetNetworkSchedule refreshes the target network, unless loss_thresh forbids it, and records
/// for each buffer which weights labelled it. Not thread-safe.
class TargetNetworkSchedule {
 public:
  /// `trainer` must outlive this object. Without `loss_thresh`, Offer always copies the network.
  TargetNetworkSchedule(const Generator& generator, Trainer& trainer,
                        std::optional<double> loss_thresh, TargetState state)
      : needs_network_(generator.needs_network()),
        most_loss_(loss_thresh.value_or(std::numeric_limits<double>::infinity())),
        trainer_(trainer),
        state_(state) {}

  /// Call when a refresh is due and `updates` updates are complete. Copies the network to the
  /// target network unless the latest loss was above loss_thresh. No fill may be using the target
  /// network. Does nothing if the generator needs no network.
  void Offer(std::int64_t updates) {
    if (!needs_network_) return;
    state_.offered = updates;
    if (updates > 0 && state_.last_loss > most_loss_) return;
    trainer_.PublishTarget();
    state_.published = updates;
  }

  /// Call after each update.
  void Trained(double mean_loss) { state_.last_loss = mean_loss; }

  /// Call before the rows of `update` are labelled: when their fill starts or, in sync_main, just
  /// before training on them.
  void LabellingStarts(std::int64_t update) { labelled_by_[update % 2] = state_; }

  /// LagOf is the intended policy lag of buffer `update`, in updates: the age of the last refresh
  /// that was due. AgeOf is the actual policy lag: the age of the weights that labelled the buffer,
  /// which is larger if loss_thresh skipped refreshes. Both are 0 if the generator needs no
  /// network. They are known for the last two buffers.
  std::int64_t LagOf(std::int64_t update) const {
    return needs_network_ ? update - labelled_by_[update % 2].offered : 0;
  }
  std::int64_t AgeOf(std::int64_t update) const {
    return needs_network_ ? update - labelled_by_[update % 2].published : 0;
  }

  const TargetState& state() const { return state_; }

 private:
  bool needs_network_;
  double most_loss_;
  Trainer& trainer_;
  TargetState state_;
  std::array<TargetState, 2> labelled_by_;  // at [update % 2]
};

/// ReplayTrainer wraps a Trainer and adds replay: it adds each update's rows to a ReplayBuffer and
/// trains on a sample from it. Rows keep the labels that they had when they were added. A mode does
/// not need to know about replay.
class ReplayTrainer final : public Trainer {
 public:
  /// Both must outlive this object. `replay` holds the rows that earlier updates added: none in a
  /// new run, those of the saved buffers in a resumed one.
  ReplayTrainer(Trainer& trainer, ReplayBuffer& replay) : trainer_(trainer), replay_(replay) {}

  void PublishTarget() override { trainer_.PublishTarget(); }

  TrainStats Train(std::int64_t update, const DataBuffer& rows, const StopSignal& stop) override {
    const Stopwatch watch;
    replay_.Add(update, rows);
    TrainStats stats = trainer_.Train(update, replay_.Sample(), stop);
    stats.seconds = watch.Seconds();
    return stats;
  }

  void BetweenIterations(std::function<void()> work) override {
    trainer_.BetweenIterations(std::move(work));
  }

 private:
  Trainer& trainer_;
  ReplayBuffer& replay_;
};

class BellmanTargets;
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
  InferenceQueue& queue;    ///< carries the generator's requests; serves one pipeline only
  ReplayBuffer& replay;     ///< holds the generator's states
  BellmanTargets& targets;  ///< labels states with the target network
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
