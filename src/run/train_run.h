// A training run: it owns the network, the generator, the buffers and every thread.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/stop_signal.h"
#include "base/stopwatch.h"
#include "config/train_config.h"
#include "config/update_plan.h"
#include "nn/device.h"
#include "pipeline/pipeline.h"
#include "run/checkpoint.h"
#include "run/data_report.h"
#include "run/run_directory.h"
#include "run/run_profile.h"
#include "run/timing_breakdown.h"
#include "run/trace.h"

namespace tandem {

/// How far a run is, for people who wait.
struct Progress {
  std::int64_t iterations_done = 0;
  std::int64_t iterations = 0;       ///< of the whole run
  std::int64_t examples = 0;         ///< rows trained on
  double seconds = 0;                ///< since the run began
  double max_seconds = 0;            ///< the time limit; 0: none
  std::optional<double> loss;        ///< of the last update, once there is one
  std::optional<double> solve_rate;  ///< of the last validation, once there is one
};

/// Sees a run from the main thread. Whoever throws ends the run.
class TrainObserver {
 public:
  virtual ~TrainObserver() = default;
  virtual void OnIteration(const Progress& /*progress*/) {}
  virtual void OnUpdate(const UpdateRecord& /*record*/) {}
  virtual void OnValidation(std::int64_t /*updates*/, const ValidationReport& /*report*/) {}
};

enum class RunEnd { kAllUpdates, kTimeLimit, kStopped };

/// The matrix products of the network after the cold start, and how fast the machine is at them.
struct ProductReport {
  double flop = 0;                ///< floating-point operations, without those of validation
  double machine_flop_per_s = 0;  ///< MeasureProductRate at the end of the run
};

/// The contents of summary.json.
struct RunSummary : RunCounters {
  RunEnd end = RunEnd::kAllUpdates;
  std::int64_t parameters = 0;
  std::int64_t peak_rss_bytes = 0;
  std::string weights_sha256;
  TimeReport time;
  std::optional<DataReport> data;         ///< with shards
  std::optional<ProductReport> products;  ///< unless the run was stopped
};

/// Runs updates one by one. All methods but RequestStop are called from one thread. All threads
/// that a run starts are joined by the time it is destroyed; what they still do after an exception
/// has left it changes nothing that is saved.
class TrainRun {
 public:
  /// `config` has no `auto` left (ResolveAutos, ResolveMaxUpdates) and `device` is the one it
  /// names. Without `directory`, nothing is written; with it, a first checkpoint is. The run ends
  /// early when `stop`, which must outlive it, is set; the time limit counts from `began`. With
  /// `from`, goes on where that checkpoint of a run of the same config was, time included; it and
  /// what replay held are in `directory`, where all that came after it is removed. Throws
  /// InputError if they do not fit.
  TrainRun(const TrainConfig& config, std::shared_ptr<Device> device,
           std::optional<RunDirectory> directory, const StopSignal& stop, Stopwatch began = {},
           const Checkpoint* from = nullptr);
  ~TrainRun();

  /// Not owned; must outlive the run.
  void AddObserver(TrainObserver& observer);

  /// Runs the next update; false once there is none left, the time is up, or a stop was requested.
  /// If it throws, the state before that update has been saved, unless it is a device that failed,
  /// which the state was on: then that of the last checkpoint is there.
  bool RunUpdate();

  /// Goes back to a checkpoint of this run, or of one of the same config, as if nothing had come
  /// after it: background work is stopped and what it has made is dropped, and all that the run
  /// works with is made anew, so that the same updates follow. Only the time that was spent stays
  /// so. Where there is replay, what it held then must still be in the folder; without a folder,
  /// throws InputError and changes nothing. Throws InputError if the checkpoint does not fit, after
  /// which the run can only be destroyed.
  void RewindTo(const Checkpoint& checkpoint);

  /// Ends the run after the iteration in hand. Safe in a signal handler and from any thread.
  void RequestStop() noexcept { requests_.Request(); }

  /// Validates once more if that is due, writes the last checkpoint and the summary. Call once,
  /// after RunUpdate returned false.
  RunSummary Finish();

  /// A run that follows the clock has the number of updates in it that is planned now.
  const TrainConfig& config() const { return config_; }
  std::string domain_identity() const;
  std::int64_t num_parameters() const;
  const std::string& device_description() const { return device_description_; }

 private:
  struct Components;

  void MakeComponents(const Checkpoint* from);
  void CheckReplayCanBeRead() const;
  RunCounters Counters() const;
  RunState State() const;
  void DropWhatCameAfter();
  std::optional<std::int64_t> BestUpdate() const;
  std::int64_t EndOfTracedEpochs() const;
  void OnIteration(std::int64_t iteration);
  void TrainingStarts();
  double ProductFlop() const;
  std::optional<ProductReport> MeasureProducts() const;
  void SaveConfig() const;
  void ForgetPlanFrom(std::int64_t update);
  void RevisePlan();
  void KeepState();
  bool RunPipelineUpdate();
  void Record(const UpdateRecord& record);
  void OrSave(const std::function<void()>& action);
  void ValidateIfDue();
  void ValidateAtStart();
  void Validate();
  void SaveUnfinished();
  void Save(const RunState& state, const RunCounters& counters, const StateDict& model,
            const std::string& weights_sha256);
  TrainingMark Mark() const;
  bool CheckpointIsDue(double update_s) const;
  void SaveCheckpoint(const std::string& weights_sha256);

  TrainConfig config_;  // its plan alone changes
  UpdatePacer pacer_;
  const std::optional<RunDirectory> directory_;
  const Stopwatch began_;
  const std::shared_ptr<Device> device_;
  const std::string device_description_;
  const std::unique_ptr<Stream> stream_;  // of all that the calling thread does on the device
  StopSignal requests_;                   // to stop, by whomever
  StopSignal stop_;                       // those, and the time limit
  std::vector<TrainObserver*> observers_;

  RunProfile time_;
  std::optional<TimingBreakdown> breakdown_;
  std::optional<Tracer> tracer_;
  RunCounters so_far_;
  std::optional<ValidationReport> report_;  // not yet in the metrics
  double earlier_s_ = 0;                    // wall time before this run went on with another
  Stopwatch since_saved_;                   // the last checkpoint
  TrainingMark began_training_;             // of the parts below
  std::int64_t trained_rows_ = 0;           // by this object, as the next
  std::int64_t evaluated_rows_ = 0;         // by parts that are gone
  std::optional<double> cold_flop_;         // when the cold start ended
  RunEnd end_ = RunEnd::kAllUpdates;
  bool ended_ = false;
  std::optional<RunState> unfinished_;  // copies from before the update that is not yet whole

  std::unique_ptr<Components> components_;  // last: its threads use what is above
};

/// Writes summary.json.
void WriteSummary(const std::filesystem::path& path, const RunSummary& summary,
                  const TrainConfig& config, const std::string& device);

}  // namespace tandem
