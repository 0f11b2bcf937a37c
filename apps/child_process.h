// Another run of this very program.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/stop_signal.h"

namespace tandem {

/// Runs this program with `arguments`, its messages going to the file `log`, and waits for it.
/// Once `stop` is reached, it is asked to end (SIGTERM) and waited for. If the calling thread ends
/// first, in whatever way, the system sends it SIGTERM. Returns its exit code, 128 + N if signal N
/// ended it. Throws Error if it cannot be started.
int RunSelf(const std::vector<std::string>& arguments, const std::filesystem::path& log,
            const StopSignal& stop);

}  // namespace tandem
