// What a run writes to its folder.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "base/stopwatch.h"
#include "base/worker.h"
#include "config/config.h"
#include "nn/device.h"
#include "nn/network.h"
#include "train/checkpoint.h"
#include "train/run_counters.h"
#include "train/run_directory.h"

namespace tandem {

class ReplayBuffer;
class StreamLoader;

/// RunFiles takes what a run writes to its folder. This class writes nothing, for a run without a
/// folder; RunSaver writes.
///
/// Call it from the main thread, on the stream of the run's device work. Methods that wait throw
/// what the writing thread threw. Errors of the disk are Errors that name the file.
class RunFiles {
 public:
  virtual ~RunFiles() = default;

  /// Call before update `state.counters.updates` begins. Waits until its rows may replace those of
  /// earlier updates in replay, and copies `state` into the snapshot.
  virtual void BeginUpdate(const RunState& /*state*/) {}

  /// Call after a complete update that took `update_s` seconds, with the state after it. Drops the
  /// snapshot. Starts to write a checkpoint and to archive the network, if they are due. After the
  /// last update, SaveCheckpoint writes the checkpoint.
  virtual void EndUpdate(const RunState& /*state*/, double /*update_s*/) {}

  /// Call after a failure. Writes the snapshot as a checkpoint. If there is none, writes `current`.
  /// Waits for earlier files first, and ignores their failures.
  virtual void SaveUnfinished(const RunState& /*current*/) {}

  /// Writes a checkpoint with the network of `current`, and returns the SHA-256 of that network's
  /// weights. A run resumes from the snapshot; without one, from `current`.
  virtual std::string SaveCheckpoint(const RunState& current);

  /// Writes the network of `state` as the best one so far, and waits. The best one of its counters
  /// is preserved as long as a checkpoint refers to it.
  virtual void SaveBest(const RunState& /*state*/) {}

  /// Adds the line of an update to metrics.jsonl.
  virtual void AddMetrics(const nlohmann::ordered_json& /*line*/) {}

  /// Adds `entries` to the line of the last update.
  virtual void AddToLastMetrics(const nlohmann::ordered_json& /*entries*/,
                                const RunCounters& /*counters*/) {}

  virtual void SaveConfig(const Config& /*config*/) {}
  virtual void SaveSummary(const nlohmann::ordered_json& /*summary*/) {}

  /// Waits until all files are written.
  virtual void Wait() {}

  /// Throws the error of a file that could not be written. Does not wait.
  virtual void ReportFailure() {}
};

/// RunSaver writes the files of a run. Another thread writes copies of checkpoints and of networks
/// to archive while training goes on; at most two files wait to be written. RunSaver also holds a
/// snapshot of the state from before the current update, to be saved if the update fails.
class RunSaver final : public RunFiles {
 public:
  /// Sources holds what the writing thread uses of a run's components. All must outlive the
  /// RunSaver.
  struct Sources {
    const ReplayBuffer* replay = nullptr;  ///< its rows belong to a checkpoint; null: none
    StreamLoader* stream = nullptr;        ///< learns of complete checkpoints; null: none
    Interrupter* interrupter = nullptr;    ///< a failure to write ends the waits that it knows
  };

  /// `directory` and `device` must outlive this object. `domain_identity` is that of the puzzle.
  RunSaver(const RunDirectory& directory, Device& device, Config config,
           std::string domain_identity, const Sources& sources);

  /// Says that the run goes on from the checkpoint in the folder, which has `so_far`. Removes or
  /// restores files so that none is newer. If the best network is unusable then, warns and removes
  /// it from `so_far`.
  void ContinueFrom(RunCounters& so_far);

  void BeginUpdate(const RunState& state) override;
  void EndUpdate(const RunState& state, double update_s) override;
  void SaveUnfinished(const RunState& current) override;
  std::string SaveCheckpoint(const RunState& current) override;
  void SaveBest(const RunState& state) override;
  void SaveConfig(const Config& config) override;
  void AddMetrics(const nlohmann::ordered_json& line) override;
  void AddToLastMetrics(const nlohmann::ordered_json& entries,
                        const RunCounters& counters) override;
  void SaveSummary(const nlohmann::ordered_json& summary) override;
  void Wait() override;
  void ReportFailure() override;

  /// Returns whether a checkpoint is to be written after an update that took `update_s` seconds.
  /// One that is due while another checkpoint is being written follows after the first update that
  /// finds it complete. `updates` updates are complete. Call it once per update.
  bool CheckpointIsDue(std::int64_t updates, double update_s);

  /// Starts to write a copy of `state` as a checkpoint, and drops the snapshot.
  void StartCheckpoint(const RunState& state);

  /// Starts to write a copy of `network`, trained as `counters` say, as an archived network.
  void StartToArchiveNetwork(const StateDict& network, const RunCounters& counters);

 private:
  std::string WhyBestIsUnusable(const RunCounters& so_far) const;
  void Post(std::function<void()> write);
  std::string Save(const RunState& resume, const RunState& current);

  const RunDirectory& directory_;
  Device& device_;
  const Config config_;
  const std::string domain_identity_;
  const std::unique_ptr<Stream> stream_;  // of the writing thread
  const Sources sources_;
  std::optional<std::int64_t> last_line_;  // update of the last line of metrics of this object

  std::unique_ptr<const RunState> snapshot_;  // state before the current update
  std::shared_ptr<const RunState> copied_;    // state of the checkpoint that was just started
  Stopwatch since_saved_;                     // time since the state of the last checkpoint
  bool is_due_ = false;                       // also while an earlier checkpoint is being written
  std::atomic<bool> writes_checkpoint_ = false;  // stays true if that fails, which ends the run
  std::int64_t started_next_ = 0;  // update with which the last StartCheckpoint continues
  std::optional<std::int64_t>
      saved_next_;  // with which checkpoint.safetensors continues; used by Save

  BackgroundTasks writer_;  // last, because its thread uses everything above
};

}  // namespace tandem
