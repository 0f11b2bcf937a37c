// The files from which a run resumes.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
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

/// RunSaver writes the checkpoints of a run, the replay rows that belong to them, the best
/// network, and the archived networks (checkpoint.keep_every). Another thread writes copies of
/// checkpoints and of networks to archive while training goes on; at most two files wait to be
/// written. RunSaver also holds a snapshot of the state from before the current update, to be saved
/// if the update fails.
///
/// Call it from the main thread, on the stream of the run's device work. Methods that wait throw
/// what the writing thread threw. Errors of the disk are Errors that name the file.
class RunSaver {
 public:
  /// Sources holds what the writing thread uses of a run's components.
  struct Sources {
    const ReplayBuffer* replay = nullptr;  ///< its rows belong to a checkpoint; null: none
    StreamLoader* stream = nullptr;        ///< learns of complete checkpoints; null: none
  };

  /// Attachment lets a RunSaver use sources, which must outlive it. Its destructor first waits
  /// until all files are written. A later call throws what the writing thread threw meanwhile. At
  /// most one object may exist at a time.
  class [[nodiscard]] Attachment {
   public:
    Attachment(RunSaver& saver, const Sources& sources);
    ~Attachment();
    Attachment(const Attachment&) = delete;
    Attachment& operator=(const Attachment&) = delete;

   private:
    RunSaver& saver_;
  };

  /// `directory`, `device` and `interrupter` must outlive this object. `domain_identity` is that of
  /// the puzzle. A failure to write ends the waits that `interrupter` knows; it may be null.
  RunSaver(const RunDirectory& directory, Device& device, Config config,
           std::string domain_identity, Interrupter* interrupter);

  /// Says that the run goes on from the checkpoint in the folder, which has `so_far`. Removes or
  /// restores files so that none is newer. If the best network is unusable then, warns and removes
  /// it from `so_far`.
  void ContinueFrom(RunCounters& so_far);

  // The snapshot: the state from before the current update.

  /// Copies `state` into the snapshot.
  void TakeSnapshot(RunState state);

  void DropSnapshot() { snapshot_.reset(); }
  bool has_snapshot() const { return snapshot_ != nullptr; }

  /// Writes the snapshot, which must exist, as a checkpoint. Waits for earlier files first, and
  /// ignores their failures.
  void SaveSnapshot();

  // Checkpoints and networks.

  /// Returns whether a checkpoint is to be written after an update that took `update_s` seconds.
  /// One that is due while another checkpoint is being written follows after the first update that
  /// finds it complete. `updates` updates are complete.
  bool CheckpointIsDue(std::int64_t updates, double update_s);

  /// Starts to write a copy of `state` as a checkpoint, and drops the snapshot.
  void StartCheckpoint(const RunState& state);

  /// Starts to write a copy of `network`, trained as `counters` say, as an archived network.
  void StartToArchiveNetwork(const StateDict& network, const RunCounters& counters);

  /// Writes `network`, trained as `counters` say, as the best one so far, and waits. The
  /// best one of `counters` is preserved as long as a checkpoint refers to it.
  void SaveBest(const StateDict& network, const RunCounters& counters);

  /// Writes a checkpoint with the network of `current`, and returns the SHA-256 of that network's
  /// weights. A run resumes from the snapshot; without one, from `current`.
  std::string SaveCheckpoint(const RunState& current);

  // Waiting.

  /// Waits until all files are written.
  void Wait();

  /// Waits until the replay rows of the last checkpoint are written, if update `update` may replace
  /// some of them.
  void WaitForReplay(std::int64_t update);

  /// Throws the error of a file that could not be written. Does not wait.
  void ReportFailure();

 private:
  std::string WhyBestIsUnusable(const RunCounters& so_far) const;
  void Post(std::function<void()> write);
  std::string Save(const RunState& resume, const RunState& current);

  const RunDirectory& directory_;
  Device& device_;
  const Config config_;
  const std::string domain_identity_;
  const std::unique_ptr<Stream> stream_;  // of the writing thread
  Sources sources_;                       // of the Attachment; empty without one

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
