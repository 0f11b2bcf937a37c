// Points at which tests make the program fail.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace tandem {

/// Fault is a place where a test can inject a failure. Its name is in kFaultNames.
enum class Fault : std::uint8_t {
  kSimulator,      ///< the puzzle's code, on a thread that generates
  kEvaluator,      ///< the network's inference copy
  kLoadBatch,      ///< gathering a batch, on the prefetch thread if there is one
  kReadShard,      ///< reading a chunk from disk
  kTransferShard,  ///< copying a chunk to the device
  kTrainStep,      ///< an optimizer step, and so the device
  kRefreshTarget,  ///< copying the network to the target network
  kValidate,       ///< a validation
  kWriteReplay,    ///< writing replay rows
  kCheckpoint,     ///< writing checkpoint.safetensors
  kWriteMetrics,   ///< writing a line of metrics.jsonl
  kCount
};

inline constexpr std::array<std::string_view, static_cast<std::size_t>(Fault::kCount)> kFaultNames =
    {"simulator",      "evaluator",        "batch.load",     "shard.read",
     "shard.transfer", "train.step",       "target.refresh", "validate",
     "replay.write",   "checkpoint.write", "metrics.write"};
static_assert(!kFaultNames.back().empty(), "a fault has no name");

/// Makes a point fail, for tests. `spec` is NAME:KIND or NAME:KIND:N: the Nth time that the program
/// passes point NAME (default 1), it fails once. "" disarms. KIND is
///
/// - error: throws an Error
/// - bad_alloc: throws std::bad_alloc
/// - unknown: throws an int
/// - full: throws the error of a full disk
/// - hang: returns after the next call of ArmFault
///
/// Throws InputError that lists what is known. Other threads may pass points only while it disarms.
void ArmFault(std::string_view spec);

namespace internal {
extern std::atomic<bool> fault_is_armed;
void FailIfDue(Fault fault);
}  // namespace internal

/// Fails if a test has armed this point. Otherwise it costs the load of a flag, so put it where a
/// range of rows, a batch or a file begins.
inline void FaultPoint(Fault fault) {
  if (internal::fault_is_armed.load(std::memory_order_relaxed)) internal::FailIfDue(fault);
}

}  // namespace tandem
