// What a thread can be at, as far as a run accounts for it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace tandem {

/// The names of phases (PhaseName) stand in files that other programs read: add, but do not rename.
enum class Phase : std::uint8_t {
  kUnnamed,  ///< covered by no span; never reported, so that what is forgotten shows as missing
  kIdle,     ///< between two tasks
  kSetUp,    ///< measuring how many updates fit, making the network, starting threads

  // Generating.
  kGenerate,         ///< handing out the work of a fill
  kScramble,         ///< random walks
  kExpand,           ///< children, and whether they are goals
  kEvaluate,         ///< asking the target network
  kBackUp,           ///< labels from the children's estimates
  kWrite,            ///< encoding states, for the buffer or for the target network
  kWaitForWorkers,   ///< the thread that shared work out, until all of it is done
  kWaitForAnswer,    ///< until the main thread has evaluated, in sync_main
  kWaitForFreeSlot,  ///< until the trainer has given a buffer back

  // Making batches.
  kShuffle,
  kGather,        ///< rows of the buffer into a batch
  kHostToDevice,  ///< handing a batch to the device
  kWaitForRoom,   ///< until the trainer has given a batch back

  // Bringing chunks of shards to the device.
  kDiskLoad,      ///< reading a chunk from disk and checking it
  kWaitForChunk,  ///< until the next chunk is read, of the thread that transfers it
  kGpuTransfer,   ///< handing a chunk to the device, until it is there
  kGpuQueueWait,  ///< until a chunk is on the device, of the thread that trains

  // Training.
  kWaitForRows,   ///< until a buffer is full
  kAnswer,        ///< evaluating for searches, in sync_main
  kReplay,        ///< keeping rows, and drawing a sample of them
  kWaitForBatch,  ///< until the prefetch thread has one
  kForward,
  kBackward,
  kClipGradients,
  kOptimizer,
  kWaitForDevice,
  kPublish,  ///< copying the weights to the target network

  // Between trainings.
  kKeepState,  ///< copying what is saved should the next update fail
  kValidation,
  kCheckpoint,
  kReport,  ///< metrics, and whoever watches the run

  kCount
};

inline constexpr auto kNumPhases = static_cast<std::size_t>(Phase::kCount);

/// "wait_for_rows".
std::string_view PhaseName(Phase phase);

/// Whether the thread does nothing meanwhile.
bool IsWait(Phase phase);

/// Whether everything that a thread does meanwhile counts as this phase: who validates also expands
/// and evaluates, but what is asked is how long validation takes.
constexpr bool TakesAll(Phase phase) { return phase == Phase::kValidation; }

}  // namespace tandem
