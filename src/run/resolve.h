// Replaces values of a config that depend on the machine or the folder.
#pragma once

#include "config/train_config.h"
#include "nn/device.h"

namespace tandem {

/// Replaces every `auto` except that of train.max_updates, which needs a measurement (calibrate.h).
TrainConfig ResolveAutos(TrainConfig config, const Device& device);

/// Makes every path absolute, so that a saved config can be used from any folder.
TrainConfig WithAbsolutePaths(TrainConfig config);

}  // namespace tandem
