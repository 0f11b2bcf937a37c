// Messages to the person at the terminal, on standard error; results go to standard output.
#pragma once

#include <string_view>

namespace tandem {

/// May be called from any thread, as all that follow.
void LogInfo(std::string_view message);
void LogWarning(std::string_view message);

/// On a terminal: shows `line`, without a line's end, below all messages and in place of the one
/// shown before. It must be no wider than the terminal.
void ShowStatus(std::string_view line);

/// What is shown stays, and messages go below it.
void LeaveStatus();

}  // namespace tandem
