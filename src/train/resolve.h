// Completes the config of a run.
#pragma once

#include "base/machine.h"
#include "config/config.h"

namespace tandem {

class Device;

/// Replaces every `auto` except that of train.max_updates, which needs a measurement (calibrate.h).
/// `cores` are those that this process can use.
Config ResolveAutos(Config config, const Device& device, int cores = NumCores());

/// Makes every path absolute, so that a saved config can be used from any folder.
Config WithAbsolutePaths(Config config);

}  // namespace tandem
