// Messages to the user, on standard error. Results go to standard output.
#pragma once

#include <string_view>

namespace tandem {

/// Write a message. All functions of this header are thread-safe, except for LogWarningsOnly.
void LogInfo(std::string_view message);
void LogWarning(std::string_view message);

/// From now on, drops the messages of LogInfo, and begins those of LogWarning with `prefix`, which
/// is not empty: for a process whose work another one reports. Call it before other threads log.
void LogWarningsOnly(std::string_view prefix);

/// Shows `line` as the status line of a terminal: below all messages, replacing the previous
/// status. `line` must not end with a line feed and must not be wider than the terminal.
void ShowStatus(std::string_view line);

/// Leaves the current status line in place, so that later messages appear below it.
void LeaveStatus();

}  // namespace tandem
