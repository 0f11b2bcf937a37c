// Chunks on their way from disk to the device, by a thread for each stage.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <mutex>
#include <vector>

#include "base/worker.h"
#include "config/train_config.h"

namespace tandem {

/// The names of their threads, in traces and accounts.
inline constexpr const char* kDiskThread = "disk";
inline constexpr const char* kTransferThread = "transfer";

/// What the stages do with a slot of memory. Each method is called from its stage's thread alone,
/// and never for the same slot as another.
class StageWork {
 public:
  virtual ~StageWork() = default;

  /// Brings the chunk of that step into the slot's host memory. False if it is to be left out,
  /// whereupon the slot gets the next one.
  virtual bool Load(std::int64_t step, std::size_t slot) = 0;

  /// Brings it to the device; returns when it is there.
  virtual void Transfer(std::int64_t step, std::size_t slot) = 0;
};

/// How many chunks wait behind each of the first two stages.
struct StageDepths {
  std::size_t cpu = DataConfig{}.cpu_prefetch;
  std::size_t gpu = DataConfig{}.gpu_prefetch;

  /// Those that wait or are being made, and the one that is trained on.
  std::size_t slots() const { return cpu + gpu + 1; }
};

/// disk -> queue of `cpu` chunks -> transfer -> queue of `gpu` chunks -> whoever takes them.
///
/// Steps go through in order. A chunk counts towards a queue from when the stage before begins to
/// work on it, so all the memory there is are StageDepths::slots() slots, used in turn.
class Stages {
 public:
  /// The steps from `first` on, without end, of epochs of `epoch_steps`; `work` must outlive this.
  Stages(StageWork& work, StageDepths depths, std::int64_t first, std::int64_t epoch_steps);

  /// Waits for the work in hand.
  ~Stages();
  Stages(const Stages&) = delete;
  Stages& operator=(const Stages&) = delete;

  struct Chunk {
    std::int64_t step = 0;
    std::size_t slot = 0;
  };

  /// Waits for the next chunk. Throws what a stage threw, once the chunks before that are taken.
  /// The one taken before must be released.
  Chunk Take();

  /// Gives the slot of the chunk taken last back.
  void Release();

 private:
  void LoadEpochs(std::int64_t first, std::int64_t epoch_steps);
  bool LoadNext(std::int64_t step);
  void TransferAll();
  template <class Condition>
  bool Await(const Condition& condition);
  void Fail(bool& failed);

  StageWork& work_;
  const StageDepths depths_;

  std::mutex mutex_;
  std::condition_variable changed_;
  // All guarded by mutex_. Chunks count from 0, without those left out; chunk n is in slot n mod
  // slots().
  std::vector<std::int64_t> steps_;  // by slot
  std::int64_t loaded_ = 0;
  std::int64_t transferring_ = 0;  // chunks that the transfer has begun with
  std::int64_t transferred_ = 0;
  std::int64_t taken_ = 0;
  std::int64_t released_ = 0;
  bool cancelled_ = false;
  bool disk_failed_ = false;
  bool transfer_failed_ = false;
  std::exception_ptr error_;  // of the first to fail

  Worker disk_, transfer_;  // last: they use everything above
};

}  // namespace tandem
