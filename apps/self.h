// Runs of this program in child processes.
#pragma once

#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/stop_signal.h"

namespace tandem {

/// `SelfRun` is one run of this program.
struct SelfRun {
  std::vector<std::string> arguments;
  std::map<std::string, std::string> variables;  ///< environment variables to set
  std::filesystem::path log;                     ///< receives standard output and standard error
};

/// `SelfEnd` is how a run ended.
struct SelfEnd {
  int code = 0;         ///< the exit code, or 128 + N if signal N ended the run
  std::size_t run = 0;  ///< which of the runs
};

/// Runs this program once for each of `runs`, all at once, and waits until all have ended. If
/// `stop` is reached or a run fails, sends SIGTERM to those that are running. If the calling thread
/// ends first, the system sends it to them. Returns the end of the first run that failed or, if
/// none failed, of run 0. Requires at least one run. Throws Error if one cannot be started; those
/// that were started end then.
SelfEnd RunSelf(std::span<const SelfRun> runs, const StopSignal& stop);

/// Returns a TCP port of this machine that no program uses. Throws Error if there is none.
int FreePort();

}  // namespace tandem
