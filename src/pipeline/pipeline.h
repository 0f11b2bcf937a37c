// The pipeline: in which order each mode fills buffers and trains on them.
//
// Buffers and updates are numbered from 0, and update k trains on each row of buffer k once. w(0)
// is the initial network, and w(k + 1) is the network after update k. With policy lag L, the target
// network that labels buffer k was due for a refresh when the network was w(max(0, k - L)).
// Keys such as `pipeline.loss_thresh` decide which refreshes take place. If one does not, the
// target network keeps its older weights.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "base/stop_signal.h"
#include "config/config.h"
#include "data/data_buffer.h"
#include "data/replay_buffer.h"
#include "generate/bellman.h"
#include "generate/generator.h"
#include "pipeline/generator_thread.h"
#include "pipeline/target_schedule.h"
#include "pipeline/update.h"

namespace tandem {

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
  StoredStateLabeller* labeller = nullptr;  ///< sync_main: labels states with the target network
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

  /// Reports the solve rate of a validation that was due. Call it between updates.
  void OnValidation(double solve_rate) { target_.OnValidation(next_, solve_rate); }

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
