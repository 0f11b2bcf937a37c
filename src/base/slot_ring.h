// A ring of memory slots that the threads of a pipeline pass from stage to stage.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <vector>

#include "base/mutex.h"

namespace tandem {

/// SlotRing hands a fixed number of slots from stage to stage, in order, and back to the first.
///
/// Items count from 0. Item n is in slot n % slots: stage 0 fills it, the stages after it work on
/// it in turn, and when the last stage ends it, the slot is free for item n + slots.
/// Each stage takes its items in order and ends them in the order in which it took them; a stage
/// may hold several. The ring only keeps the order. The memory belongs to its user.
///
/// Example, a producer and a consumer that share four slots:
///
///     SlotRing ring(/*slots=*/4, /*stages=*/2);
///     // producer                                   // consumer
///     const std::int64_t n = ring.Begin(0);         const std::int64_t n = ring.Begin(1);
///     Fill(memory[n % 4]);                          Use(memory[n % 4]);
///     ring.End(0);                                  ring.End(1);
///
/// One thread per stage; Fail and Close from any thread.
class SlotRing {
 public:
  /// Stage s begins at most `depths[s]` items that stage s + 1 has not begun. Stages without an
  /// entry, the last stage among them, are limited only by the number of slots.
  SlotRing(std::size_t slots, std::size_t stages, std::vector<std::size_t> depths = {});

  /// Waits until stage `stage` may work on its next item, and returns the item's number. After a
  /// failure, stage 0 gets no more items; later stages get those that the failed stage had ended.
  /// Then, and at once when the ring is closed, throws the reason.
  std::int64_t Begin(std::size_t stage);

  /// Waits until the limit of `stage` lets it begin another item, which for stage 0 also needs a
  /// free slot. Begin then waits only for the stage before. Throws as Begin does.
  void AwaitRoom(std::size_t stage);

  /// Hands the oldest item that `stage` holds to the next stage.
  void End(std::size_t stage);

  /// Waits until `stage` has ended its item `item`. Throws the reason if it never will.
  void AwaitEnd(std::size_t stage, std::int64_t item);

  /// Says that `stage` failed and will end no more items. The first reason counts.
  void Fail(std::size_t stage, std::exception_ptr reason);

  /// Ends all stages: every wait throws `reason` from now on. The first reason counts.
  void Close(std::exception_ptr reason);

  std::size_t SlotOf(std::int64_t item) const { return static_cast<std::size_t>(item) % slots_; }

 private:
  struct Stage {
    std::size_t depth = 0;   // 0: no limit
    std::int64_t begun = 0;  // items
    std::int64_t ended = 0;
    bool failed = false;
  };

  bool IsOver(std::size_t stage) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool HasArrived(std::size_t stage) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool HasRoom(std::size_t stage) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool WillEndMore(std::size_t stage) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::size_t slots_;
  Mutex mutex_;
  std::condition_variable changed_;
  std::vector<Stage> stages_ ABSL_GUARDED_BY(mutex_);
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
  // Of the first failure or of Close.
  std::exception_ptr reason_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace tandem
