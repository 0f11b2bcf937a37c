// The pipeline: in which order each mode fills buffers and trains on them. docs/design.md ("What
// happens in a run") numbers buffers, updates and networks, and defines the policy lag.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "base/stop_signal.h"
#include "base/stopwatch.h"
#include "config/config.h"
#include "data/data_buffer.h"
#include "data/replay_buffer.h"
#include "generate/bellman.h"
#include "generate/generator.h"
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

  /// Copies the network's weights to the target network, which no fill may be using.
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
/// the actions of a Q net, without masked ones. Labels of other heads are no costs alone.
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
  std::optional<LabelStats> labels;  ///< of the rows trained on, without shards; only of costs
  double wait_for_rows_s = 0;  ///< the main thread's wait for the buffer, including served requests
  double label_s = 0;          ///< sync_main: labelling the rows, including served requests
  double serve_s = 0;          ///< sync_main: serving the searches' requests, in total
  double seconds = 0;          ///< the whole update on the main thread
};

/// WeightsPublisher hands weights to generators in other processes. Call it from the main thread
/// only.
class WeightsPublisher {
 public:
  virtual ~WeightsPublisher() = default;

  /// Publishes the weights that label examples now, after `updates` updates.
  virtual void Publish(std::int64_t updates) = 0;
};

/// TargetState is the part of a run's state that concerns the target network's refreshes.
struct TargetState {
  std::int64_t offered = 0;    ///< completed updates when a refresh was last possible
  std::int64_t refreshed = 0;  ///< completed updates when the network was last copied
  double last_loss = 0;        ///< mean loss of the latest update
};

/// TargetNetworkSchedule refreshes the target network by the rule of section `pipeline`, and
/// records for each buffer which weights labelled it. Not thread-safe.
///
/// - refresh_every alone: the target network of DQN (Mnih et al., 2015).
/// - loss_thresh: DeepCubeA compares the loss with a threshold every N iterations (Agostinelli et
///   al., 2019).
class TargetNetworkSchedule {
 public:
  /// `trainer` and `publisher` must outlive this object. With `publisher`, publishes the weights at
  /// each refresh, also if this process has no target network.
  TargetNetworkSchedule(bool needs_network, Trainer& trainer, const PipelineConfig& config,
                        const TargetState& state, WeightsPublisher* publisher = nullptr)
      : needs_network_(needs_network),
        trainer_(trainer),
        publisher_(publisher),
        config_(config),
        state_(state) {}

  /// Call when the mode allows a refresh and `updates` updates are complete. Copies the network to
  /// the target network if the rule says so; before the first update it always does. No fill may
  /// be using the target network. Does nothing if no target network is needed.
  void RefreshIfDue(std::int64_t updates);

  /// Call after each update.
  void OnUpdate(double mean_loss) { state_.last_loss = mean_loss; }

  /// Call before the rows of `update` are labelled: when their fill starts or, in sync_main, just
  /// before training on them.
  void OnLabelling(std::int64_t update) { labelled_by_[update % 2] = state_; }

  /// LagOf is the intended policy lag of buffer `update`, in updates: the age of the last refresh
  /// that the mode allowed. AgeOf is the actual policy lag: the age of the weights that labelled
  /// the buffer, which is larger if the rule skipped refreshes. Both are 0 if no target network is
  /// needed. They are known for the last two buffers.
  std::int64_t LagOf(std::int64_t update) const {
    return needs_network_ ? update - labelled_by_[update % 2].offered : 0;
  }
  std::int64_t AgeOf(std::int64_t update) const {
    return needs_network_ ? update - labelled_by_[update % 2].refreshed : 0;
  }

  const TargetState& state() const { return state_; }

 private:
  bool needs_network_;
  Trainer& trainer_;
  WeightsPublisher* const publisher_;
  const PipelineConfig config_;
  TargetState state_;
  std::array<TargetState, 2> labelled_by_;  // at [update % 2]
};

/// PipelineState is the part of a run's state with which a pipeline continues between two updates.
struct PipelineState {
  TargetState target;
  std::int64_t longest_scramble = 1;  ///< Curriculum::reached
};

/// PipelineParts are the objects that a pipeline works with. All must outlive it.
struct PipelineParts {
  Trainer& trainer;
  TrainingHooks hooks;
  Generator* generator = nullptr;           ///< null if no rows are generated
  ReplayBuffer* replay = nullptr;           ///< null without replay
  InferenceQueue* queue = nullptr;          ///< sync_main: the generator's requests
  StoredStateLabeller* labeller = nullptr;  ///< sync_main: labels states with the target network;
                                            ///< null if the rows have labels
  WeightsPublisher* publisher = nullptr;    ///< null unless other processes follow the run
  Interrupter* interrupter = nullptr;       ///< ends the waits for buffers; null: nothing does
  /// Number of this process among those that fill the rows of an update together, from 0.
  std::int64_t rank = 0;
};

/// Pipeline runs the updates of a run, one at a time, in the order that `pipeline.mode` selects.
/// pipeline.cc has a function for each mode, and docs/design.md describes them.
///
/// Call it from the main thread only. Destroying it discards a running fill; a pipeline that
/// resumes from there makes the same rows again.
class Pipeline {
 public:
  /// `first_update` is the next update to do. `state` is the result of state() before it, and the
  /// target network must have the weights that it had then. No fill starts for update
  /// `end_update` or later. `config` must have no `auto` left; it and `stop` must outlive this
  /// object.
  Pipeline(const Config& config, const PipelineParts& parts, std::int64_t first_update,
           std::int64_t end_update, const PipelineState& state, const StopSignal& stop);
  ~Pipeline();
  Pipeline(const Pipeline&) = delete;
  Pipeline& operator=(const Pipeline&) = delete;

  /// Runs the next update. Throws what the generator, the trainer or a hook threw; afterwards
  /// the pipeline can only be destroyed. Throws Stopped if the stop signal ended the fill that the
  /// update waited for. If the signal ended the training, RunUpdate returns normally and the record
  /// counts the iterations that were done.
  UpdateRecord RunUpdate();

  /// Changes `end_update`. Call it between updates, with more than the number of completed
  /// updates.
  void EndAt(std::int64_t end_update) { end_update_ = end_update; }

  /// The state that a pipeline needs to resume from here. Valid between updates. A fill that is
  /// running has no part in it: the pipeline that resumes starts that fill again.
  PipelineState state() const {
    return {.target = target_.state(), .longest_scramble = curriculum_.reached()};
  }

 private:
  // The modes. Each function does one update.
  void Async(UpdateRecord& record);
  void Sequential(UpdateRecord& record);
  void SyncMain(UpdateRecord& record);

  // Steps that the modes share.
  void StartFill(std::int64_t update);
  void StartFillOfStates(std::int64_t update);
  DoubleBuffer::ReadSlot WaitForRows(UpdateRecord& record);
  const DataBuffer& Replayed(std::int64_t update, const DataBuffer& rows) const;
  const DataBuffer& LabelledSample(UpdateRecord& record);
  void Train(
      const DataBuffer* rows, UpdateRecord& record,
      const std::function<void()>& between_iterations = [] {});

  const Mode mode_;
  const std::int64_t policy_lag_;
  const std::int64_t iterations_per_update_;
  const bool labels_are_costs_;
  const PipelineParts parts_;
  const StopSignal& stop_;
  const std::int64_t first_update_;
  std::int64_t end_update_;
  std::int64_t next_;
  TargetNetworkSchedule target_;
  Curriculum curriculum_;
  std::optional<DataBuffer> labelled_;    // sync_main: the labelled sample of the current update
  std::optional<GeneratorThread> fills_;  // nothing if no rows are generated
};

}  // namespace tandem
