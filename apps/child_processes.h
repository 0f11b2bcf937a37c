// Commands of this program that run in child processes.
#pragma once

#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/stop_signal.h"

namespace tandem {

/// ChildProcess is a process that runs a command of this program. It inherits the environment
/// variables of this process, except those by which torchrun tells a process its rank.
struct ChildProcess {
  std::vector<std::string> arguments;
  std::map<std::string, std::string> variables;  ///< environment variables to set
  std::filesystem::path log;                     ///< receives standard output and standard error
};

/// ChildEnd is how a child process ended.
struct ChildEnd {
  int code = 0;           ///< the exit code, or 128 + N if signal N ended the process
  std::size_t child = 0;  ///< which of the processes
};

/// Runs all of `children` at once, and waits until they have ended. If `stop` is reached or one
/// fails, sends SIGTERM to those that are running. If the calling thread ends first, the system
/// sends it to them. Returns the end of the first that failed or, if none failed, of the first that
/// ended. Requires at least one. Throws Error if one cannot be started. It then sends SIGTERM to
/// those that were started, and SIGKILL if they still run after 30 s.
ChildEnd RunChildren(std::span<const ChildProcess> children, const StopSignal& stop);

/// Returns a TCP port of this machine that no program uses at the moment. Another program may take
/// it before the caller does. Throws Error if there is none.
int FreePort();

}  // namespace tandem
