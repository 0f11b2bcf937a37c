// Prepares and makes runs: replaces what is `auto`, and checks what can be checked before a run
// allocates anything large.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <vector>

#include "base/stop_signal.h"
#include "base/stopwatch.h"
#include "config/config.h"
#include "config/load.h"
#include "train/checkpoint.h"
#include "train/run_directory.h"

namespace tandem {

class Device;
class Ranks;
class TrainRun;

/// RankGroup is the ranks with which this process trains one network, and its own device.
struct RankGroup {
  Ranks& ranks;
  std::shared_ptr<Device> device;
  int cores;  ///< that each rank can use (CoresOfEach)
};

/// PreparedRun has what TrainRun needs for a new run or for the rest of one.
struct PreparedRun {
  Config config;  ///< without `auto`
  std::shared_ptr<Device> device;
  std::unique_ptr<Checkpoint> from;  ///< the checkpoint to continue from; null: a new run
};

/// Prepares a new run of `asked`. A process that trains alone (`group` is null) measures what the
/// config leaves open (ResolveMaxUpdates), counting its time from `began`. Throws InputError if the
/// device cannot be opened or the run would exceed a memory limit, Error if the puzzle is a
/// plug-in's and breaks a promise, and Stopped once `stop` is reached.
PreparedRun PrepareNew(const Config& asked, const RankGroup* group, const Stopwatch& began,
                       const StopSignal& stop);

/// Prepares to resume the run in `directory` from the checkpoint in `file`. A way of computing
/// that the run chose on another machine and that this device does not have is chosen again, unless
/// `overrides` name it. Throws InputError if the run is complete, the errors of ConfigToResume, and
/// those of PrepareNew.
PreparedRun PrepareResume(const RunDirectory& directory, const std::filesystem::path& file,
                          const std::vector<Override>& overrides, const RankGroup* group);

/// RunSettings holds what the caller decides about a run: its stop signal, clock and ranks.
struct RunSettings {
  const StopSignal& stop;            ///< ends the run, and must outlive it
  Stopwatch began = {};              ///< the run counts its time from here
  const RankGroup* group = nullptr;  ///< null: this process trains alone
  /// Called when the run is prepared, just before it is made. With a group it must tell the other
  /// ranks to make theirs.
  std::function<void(const PreparedRun&)> on_prepared = [](const PreparedRun& /*run*/) {};
};

/// Makes a new run of `asked` in `directory`, which was created for it. Throws the errors of
/// PrepareNew and of TrainRun; the folder is then given up.
std::unique_ptr<TrainRun> MakeNewRun(const Config& asked, const RunDirectory& directory,
                                     const RunSettings& settings);

/// Resumes the run in `directory` from its newest checkpoint that is not damaged. Throws the
/// errors of PrepareResume and of TrainRun.
std::unique_ptr<TrainRun> MakeResumedRun(const RunDirectory& directory,
                                         const std::vector<Override>& overrides,
                                         const RunSettings& settings);

}  // namespace tandem
