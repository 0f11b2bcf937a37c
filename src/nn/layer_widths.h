// The sizes of a network's layers.
#pragma once

#include <cstdint>
#include <vector>

#include "config/train_config.h"

namespace tandem {

/// The outputs of the hidden layers, in their order.
inline std::vector<std::int64_t> HiddenWidths(const NetworkConfig& layers) {
  std::vector<std::int64_t> widths;
  if (layers.stem_width > 0) widths.push_back(layers.stem_width);
  widths.insert(widths.end(), static_cast<std::size_t>(1 + 2 * layers.blocks), layers.width);
  return widths;
}

}  // namespace tandem
