// Prepares and makes runs: replaces what is `auto`, and checks what can be checked before a run
// allocates anything large.
#pragma once

#include <cstddef>
#include <exception>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/file.h"
#include "config/config.h"
#include "config/load.h"
#include "train/checkpoint.h"
#include "train/run_counters.h"
#include "train/run_directory.h"
#include "train/train_run.h"

namespace tandem {

/// Says that a checkpoint is damaged and that the run continues from `next` instead.
void WarnOfDamage(const DamagedFile& error, const std::filesystem::path& next);

/// Throws InputError if `requested` differs, in a key that must not change, from `began`, the
/// config with which the run began. `what` names the source of `requested`.
void CheckConfigStays(const Config& began, const Config& requested, const std::string& what);

/// Returns whether the run has done all updates, or used all the time, of `config`, and has written
/// its summary.json.
bool IsComplete(const Config& config, const RunCounters& done, const std::filesystem::path& folder);

/// Throws InputError for a key that must not change when a run is resumed. Keys that change at most
/// the last bits of the weights may, because a run may have to continue on another machine.
void CheckMayChange(const std::vector<Override>& overrides);

/// Returns the config with which the run in `directory` continues from `checkpoint`: its
/// config.yaml with `overrides`. A run that follows the clock takes the checkpoint's plan. Throws
/// InputError if config.yaml was edited in a key that must not change; the error names each key and
/// both values. Also throws InputError if train.max_updates changes and the learning rate decreases
/// up to the last update, because no config would then repeat the run.
Config ConfigToResume(const RunDirectory& directory, const Checkpoint& checkpoint,
                      const std::vector<Override>& overrides);

/// Calls `open` with the checkpoints of a run, newest first, until one call does not throw
/// DamagedFile, and returns its result. Warns of each damaged checkpoint. If all are damaged,
/// throws the error of the newest.
template <class Open>
auto OpenNewest(const RunDirectory& directory, const Open& open) {
  const std::vector<std::filesystem::path> files = directory.Checkpoints();
  std::exception_ptr newest;
  for (std::size_t i = 0;; ++i) {
    try {
      return open(files[i]);
    } catch (const DamagedFile& error) {
      if (!newest) newest = std::current_exception();
      if (i + 1 == files.size()) std::rethrow_exception(newest);
      WarnOfDamage(error, files[i + 1]);
    }
  }
}

/// RankPlan is what rank 0 tells the other ranks.
struct RankPlan {
  Config config;                          ///< of the run, without `auto`, with absolute paths
  std::filesystem::path checkpoint = {};  ///< from which all ranks continue; empty: a new run
  bool complete = false;                  ///< the run was complete when the ranks were restarted
};

/// Returns bytes from which DecodePlan makes the plan again.
std::string EncodePlan(const RankPlan& plan);
RankPlan DecodePlan(const std::string& bytes);

/// Prepares a new run of `asked`, and returns its config without `auto`. Opens the device if
/// `options` has none. A process that trains alone measures what the config leaves open
/// (ResolveMaxUpdates). Throws InputError if the device cannot be opened or the run would exceed a
/// memory limit, Error if the puzzle is a plug-in's and breaks a promise, and Stopped once
/// `options.stop` is reached.
Config PrepareNew(const Config& asked, RunOptions& options);

/// Prepares to resume the run in `options.directory` from the checkpoint `from`, and returns its
/// config. A backend that the run chose on another machine and that this device does not have is
/// chosen again, unless `overrides` name it. Throws InputError if the run is complete, the errors
/// of ConfigToResume, and those of PrepareNew except Stopped.
Config PrepareResume(const Checkpoint& from, const std::vector<Override>& overrides,
                     RunOptions& options);

/// OnPrepared is called when a run is prepared, just before it is made. With ranks it must tell the
/// other ranks to make theirs.
using OnPrepared = std::function<void(const Config& config, const RunOptions& options)>;

/// Makes a new run of `asked` in `options.directory`, which was created for it. Throws the errors
/// of PrepareNew and of TrainRun; the folder is then given up.
std::unique_ptr<TrainRun> MakeNewRun(
    const Config& asked, RunOptions options, const OnPrepared& on_prepared = [](const auto&...) {});

/// Resumes the run in `options.directory` from its newest checkpoint that is not damaged. Throws
/// the errors of PrepareResume and of TrainRun.
std::unique_ptr<TrainRun> MakeResumedRun(
    const std::vector<Override>& overrides, RunOptions options,
    const OnPrepared& on_prepared = [](const auto&...) {});

}  // namespace tandem
