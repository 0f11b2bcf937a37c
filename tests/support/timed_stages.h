// A shard pipeline whose stages take given times.
#pragma once

#include <algorithm>
#include <chrono>
#include <thread>

#include "base/stopwatch.h"
#include "data/shard_pipeline.h"

namespace tandem {

/// Seconds per chunk.
struct StageTimes {
  double disk_s = 0, transfer_s = 0, train_s = 0;

  double Slowest() const { return std::max({disk_s, transfer_s, train_s}); }
};

/// The measured times of a run. `wall_s` starts when the first chunk is ready, because nothing can
/// overlap with its loading. `means` are the average times of the stages: the requested times plus
/// the overhead of the machine.
struct StageMeasured {
  double wall_s = 0;
  StageTimes means;
};

/// Each chunk takes the given time in each stage.
class TimedStages final : public ChunkStages {
 public:
  explicit TimedStages(StageTimes times) : times_(times) {}

  /// Trains on `chunks` chunks.
  StageMeasured Run(int chunks, const DataConfig& config = {}) {
    StageMeasured measured;
    {
      ShardPipeline pipeline(*this, config, /*first=*/0, /*epoch_steps=*/chunks);
      pipeline.Take();
      const Stopwatch watch;
      for (int i = 1; i <= chunks; ++i) {
        train_.Work(times_.train_s);
        pipeline.Release();
        if (i < chunks) pipeline.Take();
      }
      measured.wall_s = watch.Seconds();
    }
    measured.means = {disk_.Mean(), transfer_.Mean(), train_.Mean()};
    return measured;
  }

  bool Load(std::int64_t /*step*/, std::size_t /*slot*/) override {
    disk_.Work(times_.disk_s);
    return true;
  }
  void Transfer(std::int64_t /*step*/, std::size_t /*slot*/) override {
    transfer_.Work(times_.transfer_s);
  }

 private:
  // Written by its stage's thread, and read after that thread has ended.
  struct Stage {
    double seconds = 0;
    int chunks = 0;

    void Work(double s) {
      const ScopedTimer timer(seconds);
      std::this_thread::sleep_for(std::chrono::duration<double>(s));
      ++chunks;
    }
    double Mean() const { return seconds / chunks; }
  };

  const StageTimes times_;
  Stage disk_, transfer_, train_;
};

}  // namespace tandem
