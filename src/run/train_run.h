// A training run: it owns the network, the generator, the buffers and every thread.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/stop_signal.h"
#include "base/stopwatch.h"
#include "config/train_config.h"
#include "nn/device.h"
#include "pipeline/pipeline.h"
#include "run/run_directory.h"

namespace tandem {

/// How far a run is, for people who wait.
struct Progress {
  std::int64_t iterations_done = 0;
  std::int64_t iterations = 0;  ///< of the whole run
  std::int64_t examples = 0;    ///< rows trained on
  double seconds = 0;           ///< since the run began
  double max_seconds = 0;       ///< the time limit; 0: none
  std::optional<double> loss;   ///< of the last update, once there is one
};

/// Sees a run from the main thread. Whoever throws ends the run.
class TrainObserver {
 public:
  virtual ~TrainObserver() = default;
  virtual void OnIteration(const Progress& /*progress*/) {}
  virtual void OnUpdate(const UpdateRecord& /*record*/) {}
};

enum class RunEnd { kAllUpdates, kTimeLimit, kStopped };

/// The contents of summary.json.
struct RunSummary {
  RunEnd end = RunEnd::kAllUpdates;
  std::int64_t updates = 0;     ///< that were finished
  std::int64_t iterations = 0;  ///< with those of an update that was not
  std::int64_t examples = 0;
  std::int64_t parameters = 0;
  double wall_s = 0;
  double generate_s = 0;
  double train_s = 0;
  double wait_for_rows_s = 0;
  double final_loss = 0;
  std::int64_t peak_rss_bytes = 0;
  std::string weights_sha256;
};

/// Runs updates one by one. All methods but RequestStop are called from one thread; all threads
/// that a run starts are joined by the time an exception leaves it or it is destroyed.
class TrainRun {
 public:
  /// `config` has no `auto` left (ResolveAutos, ResolveMaxUpdates) and `device` is the one it
  /// names. Without `directory`, nothing is written. The run ends early when `stop`, which must
  /// outlive it, is set; the time limit counts from `began`.
  TrainRun(const TrainConfig& config, std::shared_ptr<Device> device,
           std::optional<RunDirectory> directory, const StopSignal& stop, Stopwatch began = {});
  ~TrainRun();

  /// Not owned; must outlive the run.
  void AddObserver(TrainObserver& observer);

  /// Runs the next update; false once there is none left, the time is up, or a stop was requested.
  bool RunUpdate();

  /// Ends the run after the iteration in hand. Safe in a signal handler and from any thread.
  void RequestStop() noexcept { stop_.Request(); }

  /// Writes the last checkpoint and the summary. Call once, after RunUpdate returned false.
  RunSummary Finish();

  const TrainConfig& config() const { return config_; }
  std::int64_t num_parameters() const;
  std::int64_t buffer_bytes() const;  ///< of both buffers together
  const std::string& device_description() const { return device_description_; }

 private:
  struct Parts;

  void OnIteration(std::int64_t iteration);
  void Record(const UpdateRecord& record);
  void WriteCheckpoint(const std::string& weights_sha256) const;
  void WriteSummary(const RunSummary& summary) const;

  const TrainConfig config_;
  const std::optional<RunDirectory> directory_;
  const Stopwatch began_;
  std::string device_description_;
  StopSignal stop_;
  std::vector<TrainObserver*> observers_;
  RunSummary so_far_;
  bool ended_ = false;
  std::unique_ptr<Parts> parts_;  // last: its threads use what is above
};

}  // namespace tandem
