// Which checkpoint a resumed run continues from, and which keys of its config may change.
#pragma once

#include <cstddef>
#include <exception>
#include <filesystem>
#include <vector>

#include "base/file.h"
#include "config/config.h"
#include "config/load.h"
#include "train/run_counters.h"
#include "train/run_directory.h"

namespace tandem {

class Checkpoint;

/// Says that a checkpoint is damaged and that the run continues from `next` instead.
void WarnOfDamage(const DamagedFile& error, const std::filesystem::path& next);

/// Throws InputError if `requested` differs, in a key that must not change, from `began`, the
/// config with which the run in `folder` began.
void CheckConfigStays(const Config& began, const Config& requested,
                      const std::filesystem::path& folder);

/// Returns whether the run has done all updates, or used all the time, of `config`, and has written
/// its summary.json.
bool IsComplete(const Config& config, const RunCounters& done, const std::filesystem::path& folder);

/// Throws InputError for a key that must not change when a run is resumed. Most keys determine the
/// weights. Threads, the device and the ways of computing change at most the last bits of the
/// weights, and may change because a run may have to continue on another machine.
void CheckMayChange(const std::vector<Override>& overrides);

/// Returns the overrides of `domain.file`. A config can be read only together with the file of its
/// puzzle, which may have moved since the config was saved.
std::vector<Override> OverridesOfPuzzleFile(const std::vector<Override>& overrides);

/// Returns the config.yaml of the run in `directory` with `overrides`, or the config of its
/// checkpoint if config.yaml is empty, as after a kill right after the first checkpoint.
Config SavedConfig(const RunDirectory& directory, const Checkpoint& checkpoint,
                   const std::vector<Override>& overrides = {});

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

/// Throws InputError if the run is complete: it has done all updates or used all the time of
/// `config`, and has a summary.json. A run that was killed before it wrote that file still has to
/// finish.
void CheckNotComplete(const Config& config, const RunCounters& done,
                      const std::filesystem::path& folder);

}  // namespace tandem
