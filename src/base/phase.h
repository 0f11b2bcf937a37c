// The phases into which the time of threads is divided.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace tandem {

/// Phase is what a thread spends its time on. The names (PhaseName) appear in files that other
/// programs read, so add phases but do not rename them.
enum class Phase : std::uint8_t {
  kUnnamed,  ///< time outside all spans; never reported, so that missing spans show as missing time
  kIdle,     ///< between two tasks
  kSetUp,    ///< choosing the number of updates, creating the network, starting threads

  // Generation.
  kGenerate,          ///< distributing the work of a fill
  kScramble,          ///< random walks
  kExpand,            ///< expanding states and testing the children for goals
  kEvaluate,          ///< evaluating with the target network
  kBackUp,            ///< computing labels from the children's estimates
  kWrite,             ///< encoding states for the buffer or for the target network
  kWaitForWorkers,    ///< waiting until the workers have finished the work given to them
  kWaitForInference,  ///< waiting until the main thread has evaluated states (sync_main)
  kWaitForFreeSlot,   ///< waiting until the trainer returns a buffer

  // Making batches.
  kShuffle,
  kGather,        ///< copying rows of the buffer into a batch
  kHostToDevice,  ///< starting the transfer of a batch to the device
  kWaitForRoom,   ///< waiting until the trainer returns a batch

  // Reading shards.
  kDiskLoad,      ///< reading a chunk from disk and verifying it
  kWaitForChunk,  ///< transfer thread: waiting until the next chunk has been read
  kGpuTransfer,   ///< transferring a chunk to the device, until it has arrived
  kGpuQueueWait,  ///< training thread: waiting until a chunk is on the device

  // Training.
  kWaitForRows,   ///< waiting until a buffer is full
  kServe,         ///< evaluating states for the generator (sync_main)
  kReplay,        ///< storing rows in replay and drawing a sample of them
  kWaitForBatch,  ///< waiting until the prefetch thread has made a batch
  kForward,
  kBackward,
  kClipGradients,
  kOptimizer,
  kWaitForDevice,
  kReduce,        ///< preparing the exchange of gradients with other ranks, and their mean
  kWaitForRanks,  ///< waiting for the other ranks and for the exchange
  kPublish,       ///< copying the weights to the target network

  // Between updates.
  kKeepState,  ///< copying the state that is saved if the next update fails
  kValidation,
  kCheckpoint,
  kReport,  ///< writing metrics and calling observers of the run

  kCount
};

inline constexpr auto kNumPhases = static_cast<std::size_t>(Phase::kCount);

/// The name of a phase in files, such as "wait_for_rows".
std::string_view PhaseName(Phase phase);

/// The phase of this name, or nothing.
std::optional<Phase> PhaseNamed(std::string_view name);

/// Whether the thread does no work in this phase.
bool IsWait(Phase phase);

/// PhaseTimes holds the seconds that one or several threads spent in each phase.
struct PhaseTimes {
  std::array<double, kNumPhases> seconds{};
  double wall_s = 0;         ///< wall time of the thread, or the sum over several threads
  double synchronize_s = 0;  ///< part of `seconds` spent waiting for the device at ends of phases

  double operator[](Phase phase) const { return seconds[static_cast<std::size_t>(phase)]; }
  double& operator[](Phase phase) { return seconds[static_cast<std::size_t>(phase)]; }

  /// The time in all named phases.
  double Sum() const;
  /// The time in all named phases that are not waits (IsWait).
  double Work() const;

  PhaseTimes& operator+=(const PhaseTimes& other);
  PhaseTimes& operator-=(const PhaseTimes& other);
};

}  // namespace tandem
