// Computes states of walks from the goal as a GPU does, each byte without the others.
// cuda/cuda_kernels.cu runs this code there. It is plain C++, so a test can run it on a CPU.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/host_device.h"

namespace tandem {

/// WalkJob describes states of walks that start at the goal. A state is a row of origins: for each
/// position, the position of the goal that its byte comes from (OriginEncoding).
struct WalkJob {
  const std::uint8_t* sources;  ///< (num_actions, positions): the position each byte comes from
  std::uint32_t positions;      ///< 1 to 256
  const std::int32_t* actions;  ///< (steps, walks)
  std::int64_t walks;
  const std::int64_t* places;  ///< (rows): row i is walk places[i] % walks after places[i] / walks
                               ///< actions
  std::int64_t rows;
  std::uint8_t* to;  ///< (rows, positions)

  /// Writes byte `byte` of `to`: follows its position back through the actions, from the last to
  /// the first. Requires byte < rows * positions.
  TANDEM_HOST_DEVICE void Write(std::int64_t byte) const {
    const std::int64_t row = byte / positions;
    auto position = static_cast<std::uint32_t>(byte - row * positions);
    for (std::int64_t last = ReadOnly(places + row) - walks; last >= 0; last -= walks) {
      const auto action = static_cast<std::size_t>(ReadOnly(actions + last));
      position = ReadOnly(sources + action * positions + position);
    }
    to[byte] = static_cast<std::uint8_t>(position);
  }
};

}  // namespace tandem
