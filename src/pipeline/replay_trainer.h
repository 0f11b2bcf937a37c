// A trainer that also trains on the rows of earlier updates.
#pragma once

#include <utility>

#include "base/stopwatch.h"
#include "buffer/replay_buffer.h"
#include "pipeline/trainer.h"

namespace tandem {

/// ReplayTrainer wraps a Trainer and adds replay: it adds each update's rows to a ReplayBuffer and
/// trains on a sample from it. Rows keep the labels that they had when they were added. A mode does
/// not need to know about replay.
class ReplayTrainer final : public Trainer {
 public:
  /// Both must outlive this object. `replay` holds the rows that earlier updates added: none in a
  /// new run, those of the saved buffers in a resumed one.
  ReplayTrainer(Trainer& trainer, ReplayBuffer& replay) : trainer_(trainer), replay_(replay) {}

  void PublishTarget() override { trainer_.PublishTarget(); }

  TrainStats Train(std::int64_t update, const DataBuffer& rows, const StopSignal& stop) override {
    const Stopwatch watch;
    replay_.Add(update, rows);
    TrainStats stats = trainer_.Train(update, replay_.Sample(), stop);
    stats.seconds = watch.Seconds();
    return stats;
  }

  void BetweenIterations(std::function<void()> work) override {
    trainer_.BetweenIterations(std::move(work));
  }

 private:
  Trainer& trainer_;
  ReplayBuffer& replay_;
};

}  // namespace tandem
