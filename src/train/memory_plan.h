// Computes how much memory a run will take, before it allocates anything.
#pragma once

#include <cstdint>
#include <string>

#include "config/config.h"

namespace tandem {

/// MemoryPlan lists the memory of a run in bytes, by purpose and by kind of memory.
struct MemoryPlan {
  std::int64_t parameters = 0;  ///< number of parameters of the network

  // By purpose.
  std::int64_t buffers = 0;     ///< both buffers, on the host
  std::int64_t replay = 0;      ///< rows of earlier updates and the
                                ///< sample (in sync_main also its labelled form), on the host
  std::int64_t generation = 0;  ///< upper bound: states with their children, and the nodes of A*
  std::int64_t batches = 0;     ///< batches for training and validation, on the host (pinned for a
                                ///< GPU) and as much again on a GPU; also the order of rows and the
                                ///< children of the validation states
  std::int64_t shards = 0;      ///< chunks read ahead, on the host and as much again on a GPU
  std::int64_t inference_inputs = 0;  ///< inputs of the inference copies, on the host and as much
                                      ///< again on a GPU
  std::int64_t activations = 0;  ///< on the device, estimated: kept by a step for the backward pass
  std::int64_t inference_activations = 0;  ///< on the device, estimated: of one inference batch
  std::int64_t network = 0;  ///< on the device: weights, gradients, the optimizer's means, the
                             ///< moving average, the copies kept for interrupted updates and for
                             ///< the checkpoint being written, and the inference copies

  // The same memory by kind.
  std::int64_t allocated = 0;  ///< host memory, including pinned memory
  std::int64_t pinned = 0;     ///< part of `allocated` that is pinned for copies to a GPU
  std::int64_t mapped = 0;     ///< mapped files; the system keeps in memory as much as fits
};

/// Computes the memory of a run. `config` must have no `auto` left. Throws InputError if its shards
/// cannot be read.
MemoryPlan PlanMemory(const Config& config);

/// Throws InputError if the plan exceeds a memory limit of `config`. The error names the limit,
/// what takes most memory, and the keys to change.
void CheckLimits(const MemoryPlan& plan, const Config& config);

/// Throws InputError if a phase of the run exceeds a memory limit.
void CheckLimitsOfPhases(const Config& config);

/// Describes in one line of text how much memory each purpose takes.
std::string DescribeMemory(const MemoryPlan& plan);

}  // namespace tandem
