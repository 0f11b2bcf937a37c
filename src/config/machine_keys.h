// The keys whose values a run chose for the machine that it ran on.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/load.h"

namespace tandem {

/// Returns overrides with which this machine chooses for itself. They set the device, the numbers
/// of threads, the precision and batch size of inference, and the keys in `also` to `auto`.
/// `overrides` follow, so they win. Messages say that `origin` set a key to `auto`.
std::vector<Override> ForThisMachine(std::string_view origin,
                                     const std::vector<Override>& overrides,
                                     const std::vector<std::string>& also = {});

}  // namespace tandem
