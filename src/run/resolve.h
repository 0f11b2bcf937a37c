// What `auto` stands for on this machine.
#pragma once

#include "config/train_config.h"
#include "nn/device.h"

namespace tandem {

/// Replaces every `auto` but that of train.max_updates, which takes a measurement (calibrate.h).
TrainConfig ResolveAutos(TrainConfig config, const Device& device);

/// With every path absolute: what a run saves can be used from any folder.
TrainConfig WithAbsolutePaths(TrainConfig config);

}  // namespace tandem
