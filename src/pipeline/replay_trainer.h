// Training on the rows of earlier updates too.
#pragma once

#include <utility>

#include "base/stopwatch.h"
#include "buffer/replay_buffer.h"
#include "pipeline/trainer.h"

namespace tandem {

/// A Trainer that trains another on a sample of the rows of the update in hand and of those before
/// it (ReplayBuffer), with the labels that they had when they came. The modes need not know.
class ReplayTrainer final : public Trainer {
 public:
  /// Both must outlive this. What `replay` holds is what the updates so far have added.
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
