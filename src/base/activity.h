// The activities into which the time of threads is divided.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace tandem {

/// Activity is what a thread spends its time on. The names (ActivityName) appear in files that
/// other programs read, so add activities but do not rename them once they are released.
enum class Activity : std::uint8_t {
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
  kGpuQueueWait,  ///< training thread: waiting for a chunk on the device, or for rows of a stream

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
  kReduce,         ///< preparing the exchange of gradients with other ranks, and their mean
  kWaitForRanks,   ///< waiting for the other ranks and for the exchange
  kRefreshTarget,  ///< copying the weights to the target network
  kPublish,        ///< writing the weights for generators in other processes

  // Between updates.
  kKeepState,  ///< copying the state that is saved if the next update fails
  kValidation,
  kCheckpoint,
  kReport,  ///< writing metrics and calling observers of the run

  kCount
};

inline constexpr auto kNumActivities = static_cast<std::size_t>(Activity::kCount);

/// The name of an activity in files, such as "wait_for_rows".
std::string_view ActivityName(Activity activity);

/// The activity of this name, or nothing.
std::optional<Activity> ActivityNamed(std::string_view name);

/// Whether the thread does no work in this activity.
bool IsWait(Activity activity);

/// ActivityTimes holds the seconds that one or several threads spent in each activity.
struct ActivityTimes {
  std::array<double, kNumActivities> seconds{};
  double wall_s = 0;  ///< wall time of the thread, or the sum over several threads
  double synchronize_s =
      0;  ///< part of `seconds` spent waiting for the device at ends of activities

  double operator[](Activity activity) const { return seconds[static_cast<std::size_t>(activity)]; }
  double& operator[](Activity activity) { return seconds[static_cast<std::size_t>(activity)]; }

  /// The time in all named activities.
  double Sum() const;
  /// The time in all named activities that are not waits (IsWait).
  double Work() const;
  /// The time in which the thread that trains waited for others: for rows, for shards or a stream,
  /// and for other ranks. Its waits for its batches and its device are part of training.
  double WaitForOthers() const;

  ActivityTimes& operator+=(const ActivityTimes& other);
  ActivityTimes& operator-=(const ActivityTimes& other);
};

}  // namespace tandem
