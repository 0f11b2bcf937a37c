// What a run will allocate, known before it does.
#pragma once

#include <cstdint>
#include <string>

#include "config/train_config.h"

namespace tandem {

struct MemoryPlan {
  std::int64_t parameters = 0;  ///< of the network

  // In bytes.
  std::int64_t buffers = 0;  ///< both, on the host
  std::int64_t replay = 0;   ///< what is kept of earlier updates, and the sample (in sync_main also
                             ///< as examples), on the host; the former is mapped if that is asked
                             ///< for
  std::int64_t generation = 0;  ///< at most: states with their children, and what A* has met
  std::int64_t batches = 0;  ///< on their way to training and validation: on the host (pinned, for
                             ///< a GPU), and as much again on a GPU; besides the order of rows
                             ///< and the children of the states to validate on
  std::int64_t shards = 0;   ///< chunks on their way from disk: likewise
  std::int64_t evaluated = 0;    ///< states on their way to the networks that estimate: likewise
  std::int64_t activations = 0;  ///< on the device, about: of a step's rows, for the backward pass
  std::int64_t evaluations = 0;  ///< on the device, about: of the states that are estimated at once
  std::int64_t network = 0;  ///< on the device: weights, gradients, Adam's two means, the copies to
                             ///< go on from after an interruption, and those that are evaluated

  // The same by where it is.
  std::int64_t allocated = 0;  ///< of the host's memory, with what is pinned
  std::int64_t pinned = 0;     ///< of which for copies to a GPU
  std::int64_t mapped = 0;     ///< of files on disk, of which the system keeps in memory what fits
};

/// `config` has no `auto` left. Throws InputError if the shards that it names cannot be read.
MemoryPlan PlanMemory(const TrainConfig& config);

/// Throws InputError that names the limit of `config` that the plan exceeds, what takes most of it,
/// and the keys to change.
void CheckLimits(const MemoryPlan& plan, const TrainConfig& config);

/// For people: what takes how much, and where.
std::string Describe(const MemoryPlan& plan);

}  // namespace tandem
