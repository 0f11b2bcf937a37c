// What a run will allocate, known before it does.
#pragma once

#include <cstdint>

#include "config/train_config.h"

namespace tandem {

struct MemoryPlan {
  std::int64_t parameters = 0;  ///< of the network

  // In bytes.
  std::int64_t buffers = 0;  ///< both, on the host
  std::int64_t replay = 0;   ///< what is kept of earlier updates, and the sample (in sync_main also
                             ///< as examples), on the host
  std::int64_t search = 0;   ///< at most, of the states that the generator's A* has met
  std::int64_t batches = 0;  ///< the prefetch ring: on the host (pinned, for a GPU), and as much
                             ///< again on a GPU
  std::int64_t network = 0;  ///< on the device: weights, gradients, Adam's two means, the copies to
                             ///< go on from after an interruption, and those that are evaluated
};

/// `config` has no `auto` left.
MemoryPlan PlanMemory(const TrainConfig& config);

}  // namespace tandem
