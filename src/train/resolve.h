// Completes the config of a run.
#pragma once

#include <cstdint>

#include "config/config.h"

namespace tandem {

class Device;

/// Replaces every `auto` except that of train.max_updates, which needs a measurement (calibrate.h).
/// `processes` share the cores of this machine.
Config ResolveAutos(Config config, const Device& device, std::int64_t processes = 1);

/// Makes every path absolute, so that a saved config can be used from any folder.
Config WithAbsolutePaths(Config config);

}  // namespace tandem
