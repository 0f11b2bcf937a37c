// Moves chunks from disk to the device, with one thread per stage.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "base/slot_ring.h"
#include "base/stop_signal.h"
#include "base/worker.h"

namespace tandem {

/// Names of the threads, in traces and in the time report.
inline constexpr const char* kDiskThread = "disk";
inline constexpr const char* kTransferThread = "transfer";

/// StageTotals holds the total work of one stage.
struct StageTotals {
  std::int64_t bytes = 0;
  double seconds = 0;  ///< working time; excludes waiting

  double GbPerSecond() const {
    return seconds > 0 ? static_cast<double>(bytes) / seconds * 1e-9 : 0;
  }
};

/// ChunkStages does the work of the stages on a slot of memory. Each method is called only from
/// its stage's thread, and no two methods run on the same slot at the same time.
class ChunkStages {
 public:
  virtual ~ChunkStages() = default;

  /// Brings the chunk of step `step` into the slot's host memory.
  virtual void Load(std::int64_t step, std::size_t slot) = 0;

  /// Copies the chunk to the device. Returns when it is there.
  virtual void Transfer(std::int64_t step, std::size_t slot) = 0;
};

/// ChunkQueues says how many chunks may wait after each stage of a ShardPipeline. A chunk counts
/// from the moment when the stage begins to work on it.
struct ChunkQueues {
  std::size_t on_host = 2;
  std::size_t on_device = 2;

  /// The number of slots that a pipeline needs: with one for the chunk in training.
  std::size_t num_slots() const { return on_host + on_device + 1; }
};

/// ShardPipeline runs disk -> queue on the host -> transfer -> queue on the device, for one thread
/// that takes the chunks at the end, in the order of their steps.
class ShardPipeline {
 public:
  /// Runs the steps from `first` on, without end, in epochs of `epoch_steps`. `interrupter`, if
  /// there is one, ends the waits for chunks. It and `stages` must outlive this.
  ShardPipeline(ChunkStages& stages, const ChunkQueues& queues, std::int64_t first,
                std::int64_t epoch_steps, Interrupter* interrupter = nullptr);

  /// Waits until both threads have finished the chunks that they are working on.
  ~ShardPipeline();
  ShardPipeline(const ShardPipeline&) = delete;
  ShardPipeline& operator=(const ShardPipeline&) = delete;

  struct Item {
    std::int64_t step = 0;
    std::size_t slot = 0;
  };

  /// Waits for the next chunk. If a stage failed, throws its exception once the chunks before the
  /// failure are taken. The previous chunk must be released first.
  Item Take();

  /// Gives back the slot of the chunk that was taken last.
  void Release();

 private:
  void Start(Worker& worker, std::size_t stage, std::function<void()> work);
  void LoadEpochs(std::int64_t first, std::int64_t epoch_steps);
  std::size_t Begin(std::size_t stage);

  ChunkStages& stages_;
  SlotRing ring_;
  std::vector<std::int64_t> steps_;  // by slot; the ring orders the accesses
  Interrupter::Registration registration_;

  Worker disk_, transfer_;  // last, because they use everything above
};

}  // namespace tandem
