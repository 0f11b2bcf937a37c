// Runs this program again as a child process.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/stop_signal.h"

namespace tandem {

/// Runs this program with `arguments` in a child process, with its output in the file `log`, and
/// waits for it. If `stop` is reached, sends the child SIGTERM and waits for it to end. If the
/// calling thread ends first, the system sends the child SIGTERM. Returns the child's exit code, or
/// 128 + N if signal N ended it. Throws Error if the child cannot be started.
int RunSelf(const std::vector<std::string>& arguments, const std::filesystem::path& log,
            const StopSignal& stop);

}  // namespace tandem
