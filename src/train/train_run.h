// A training run: it owns the network, the generator, the buffers and every thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/machine.h"
#include "base/stop_signal.h"
#include "base/stopwatch.h"
#include "config/config.h"
#include "config/update_plan.h"
#include "pipeline/pipeline.h"
#include "train/report.h"
#include "train/run_directory.h"
#include "train/run_profile.h"
#include "train/run_saver.h"
#include "train/run_stop.h"
#include "train/training.h"
#include "train/validation.h"

namespace tandem {

class Checkpoint;
class Ranks;
struct Components;

/// RunOptions holds what a run needs in addition to its config.
struct RunOptions {
  /// The device that the config names. MakeNewRun and MakeResumedRun open it if it is null.
  std::shared_ptr<Device> device = {};

  /// The folder for the run's files. A new run writes a first checkpoint there. Empty: the run
  /// writes no files.
  std::optional<RunDirectory> directory = {};

  /// Ends the run early once it is reached. It must outlive the run.
  std::reference_wrapper<const StopSignal> stop;

  /// The time limit and the wall time count from here.
  Stopwatch began = {};

  /// The checkpoint to continue from, including the time spent, of a run of the same config. It and
  /// the replay file that belongs to it must be in `directory`. Files and metrics of later updates
  /// are removed. The run does not use it after the constructor. Null: a new run.
  const Checkpoint* from = nullptr;

  /// The ranks that train one network together, which must outlive the run. Each has a TrainRun of
  /// the same config, with the rows and the device of its rank, and only that of rank 0 has a
  /// directory and validates. CheckRanks must accept the config. Null: this process trains alone.
  Ranks* ranks = nullptr;

  int cores = NumCores();  ///< that this process can use, for each `auto` of the config
};

/// TrainRun trains a network, one update at a time. Call all methods except RequestStop from one
/// thread. The destructor joins all threads that the run started. After RunUpdate or Finish has
/// thrown, background threads may still finish work, but the saved state no longer changes: after
/// a failed update or checkpoint, both throw Error.
class TrainRun final {
 public:
  /// Sets up a run of `config`, which must have no `auto` left (ResolveAutos, ResolveMaxUpdates).
  /// Throws InputError if the checkpoint to continue from does not match the config.
  TrainRun(Config config, RunOptions options);
  ~TrainRun();
  TrainRun(const TrainRun&) = delete;
  TrainRun& operator=(const TrainRun&) = delete;

  /// Calls `observe` after each iteration, on the main thread. An exception that it throws ends the
  /// run.
  void ObserveIterations(std::function<void(const TrainingProgress&)> observe) {
    observe_iteration_ = std::move(observe);
  }

  /// Runs the next update. Returns false once all updates are done, the time is up, or a stop was
  /// requested. If it throws, it has saved the state before that update. If the device itself
  /// failed, its memory is lost; the last checkpoint on disk is then the newest state. A checkpoint
  /// that is due after the update may still be being written when this returns; see
  /// AwaitCheckpoint.
  bool RunUpdate();

  /// Waits until the files that are being written in the background are complete. Throws as
  /// RunUpdate does if one of them could not be written.
  void AwaitCheckpoint();

  /// Ends the run after the current iteration. Safe in a signal handler and from any thread.
  void RequestStop() noexcept { stop_.Request(); }

  /// Validates the final network unless that was done, and writes the last checkpoint and the
  /// summary. Call once, after RunUpdate returned false.
  RunSummary Finish();

  /// Returns how far the run is. The iterations of an update count once it has ended, even if it
  /// was cut short.
  TrainingProgress progress() const;

  /// Returns the config. In a run that follows the clock, train.max_updates is the number planned
  /// now.
  const Config& config() const { return config_; }

  const Device& device() const { return *device_; }
  std::int64_t num_parameters() const;

 private:
  // Setting up.
  void ContinueFrom(const Checkpoint& checkpoint);
  void CheckReplayCanBeRead() const;
  void ReadReplayRows();
  void AddSections(Ranks* ranks);
  void StartToSave(bool resumes);

  // An update, and what happens between two updates.
  void RequireNoFailure() const;
  void SaveOnFailure(const std::function<void()>& work);
  void RevisePlan();
  void RunPipelineUpdate();
  void OnIterationEnd(std::int64_t iterations);
  void EndUpdate(const UpdateRecord& record);
  void Count(const UpdateRecord& record);
  void RecordValidation(const ValidationReport& report);
  void RecordLate(const std::optional<ValidationReport>& report);
  void DecideWhetherEnded();

  RunCounters Counters() const;
  RunState State() const;
  void SaveUnfinished();
  RunSummary MakeSummary(std::string weights_sha256);

  Config config_;  // only its plan changes
  const int cores_;
  UpdatePacer pacer_;
  const std::optional<RunDirectory> directory_;
  const Stopwatch began_;
  const std::shared_ptr<Device> device_;
  const std::unique_ptr<Stream> stream_;  // stream of all device work of the calling thread
  std::function<void(const TrainingProgress&)> observe_iteration_;  // empty: nothing observes

  RunProfile time_;
  RunStop stop_;

  RunCounters so_far_;
  RunValidation validation_;
  double earlier_s_ = 0;                 // wall time before this run was resumed
  std::int64_t first_update_ = 0;        // that this object does
  FillStats last_fill_;                  // of the last update's rows
  std::optional<double> longest_label_;  // of the last update; nothing if it is not known
  std::optional<BusyShares> busy_;       // in the last update
  RunEnd end_ = RunEnd::kAllUpdates;
  bool ended_ = false;
  bool failed_ = false;

  std::unique_ptr<Components> components_;             // its threads use the members above
  std::vector<std::unique_ptr<RunSection>> sections_;  // parts of the run that the config turns on
  std::unique_ptr<RunFiles> files_;                    // last, because its thread uses components_
};

}  // namespace tandem
