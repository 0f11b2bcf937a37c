// Measures the effect of overlap with stages that take given times: fills and training over 50
// updates, and the three stages from disk to training over 400 chunks. Throughput depends on
// time, so these stages wait for a clock; tests of order and of concurrency do not.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <memory>

#include "base/stopwatch.h"
#include "data/shard_pipeline.h"
#include "pipeline/pipeline.h"
#include "support/wait.h"

namespace tandem {
namespace {

constexpr int kUpdates = 50;
const Schema kSchema{.columns = {{.name = "n", .type = ElementType::kFloat32, .width = 1}}};

class SlowGenerator final : public Generator {
 public:
  explicit SlowGenerator(double seconds) : seconds_(seconds) {}
  bool needs_network() const override { return true; }
  const Schema& schema() const override { return kSchema; }
  void Fill(const FillRequest&, DataBuffer&, const StopSignal&) override { TakeTime(seconds_); }

 private:
  const std::chrono::duration<double> seconds_;
};

class SlowTrainer final : public Trainer {
 public:
  explicit SlowTrainer(double seconds) : seconds_(seconds) {}
  void RefreshTarget() override {}
  std::unique_ptr<TrainPass> Begin(std::int64_t, const DataBuffer*) override {
    return std::make_unique<Pass>(seconds_);
  }

 private:
  class Pass final : public TrainPass {
   public:
    explicit Pass(std::chrono::duration<double> seconds) : seconds_(seconds) {}
    bool Step() override {
      if (done_ == 1) return false;
      TakeTime(seconds_);
      ++done_;
      return true;
    }
    std::int64_t iterations_of_run() const override { return done_; }
    TrainStats Finish() override { return {.iterations = done_}; }

   private:
    const std::chrono::duration<double> seconds_;
    std::int64_t done_ = 0;
  };

  const std::chrono::duration<double> seconds_;
};

struct Stages {
  double fill_s, train_s;
};

class Overlap : public testing::TestWithParam<Stages> {
 protected:
  // The time of all updates except the cold start, which cannot overlap with anything.
  static double SecondsAfterTheColdStart(bool async) {
    SlowGenerator generator(GetParam().fill_s);
    SlowTrainer trainer(GetParam().train_s);
    const StopSignal stop;
    Config config;
    config.pipeline.mode = async ? Mode::kAsync : Mode::kSequential;
    config.pipeline.policy_lag = 1;
    config.train.batch_size = 1;
    config.train.iterations_per_update = 1;
    Pipeline pipeline(config, {.trainer = trainer, .generator = &generator},
                      /*first_update=*/0, kUpdates, {}, stop);
    const Stopwatch watch;
    double cold_start_s = 0;
    for (int k = 0; k < kUpdates; ++k) {
      const UpdateRecord record = pipeline.RunUpdate();
      if (k == 0) cold_start_s = record.wait_for_rows_s;
    }
    return watch.Seconds() - cold_start_s;
  }
};

TEST_P(Overlap, AsyncTakesTheLongerStageAndSequentialBoth) {
  const auto [fill_s, train_s] = GetParam();
  const double ideal = kUpdates * std::max(fill_s, train_s);
  const double overlapped = SecondsAfterTheColdStart(/*async=*/true);
  EXPECT_LT(overlapped, 1.05 * ideal);
  EXPECT_GT(overlapped, 0.95 * ideal);
  const double sum = kUpdates * (fill_s + train_s) - fill_s;
  const double in_turns = SecondsAfterTheColdStart(/*async=*/false);
  EXPECT_LT(in_turns, 1.05 * sum);
  EXPECT_GE(in_turns, 0.999 * sum);
}

INSTANTIATE_TEST_SUITE_P(Ratios, Overlap,
                         testing::Values(Stages{0.03, 0.09}, Stages{0.06, 0.06},
                                         Stages{0.09, 0.03}));

// The stages from disk to training. Each one is the slowest once.

// Seconds per chunk.
struct StageTimes {
  double disk_s = 0, transfer_s = 0, train_s = 0;

  double Slowest() const { return std::max({disk_s, transfer_s, train_s}); }
};

// The measured times of a run. `wall_s` starts when the first chunk is ready, because nothing can
// overlap with its loading. `means` are the average times of the stages: the requested times plus
// the overhead of the machine.
struct StageMeasured {
  double wall_s = 0;
  StageTimes means;
};

// Each chunk takes the given time in each stage.
class TimedStages final : public ChunkStages {
 public:
  explicit TimedStages(StageTimes times) : times_(times) {}

  // Trains on `chunks` chunks.
  StageMeasured Run(int chunks, const ChunkQueues& queues = {}) {
    StageMeasured measured;
    {
      ShardPipeline pipeline(*this, queues, /*first=*/0, /*epoch_steps=*/chunks);
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

  void Load(std::int64_t /*step*/, std::size_t /*slot*/) override { disk_.Work(times_.disk_s); }
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
      TakeTime(std::chrono::duration<double>(s));
      ++chunks;
    }
    double Mean() const { return seconds / chunks; }
  };

  const StageTimes times_;
  Stage disk_, transfer_, train_;
};

constexpr int kChunks = 400;

class StageThroughput : public testing::TestWithParam<StageTimes> {};

// Each case takes ten seconds.
TEST_P(StageThroughput, EqualsThatOfTheSlowestStage) {
  TimedStages stages(GetParam());
  const StageMeasured measured = stages.Run(kChunks);
  const double ideal_s = kChunks * measured.means.Slowest();
  RecordProperty("share_of_slowest", std::to_string(ideal_s / measured.wall_s));
  EXPECT_GT(ideal_s / measured.wall_s, 0.95);
  EXPECT_LT(ideal_s / measured.wall_s, 1.05);
  EXPECT_LT(measured.means.Slowest(), 1.1 * GetParam().Slowest());
}

INSTANTIATE_TEST_SUITE_P(
    SlowestInTurn, StageThroughput,
    testing::Values(StageTimes{.disk_s = 0.024, .transfer_s = 0.01, .train_s = 0.015},
                    StageTimes{.disk_s = 0.015, .transfer_s = 0.024, .train_s = 0.01},
                    StageTimes{.disk_s = 0.01, .transfer_s = 0.015, .train_s = 0.024}));

}  // namespace
}  // namespace tandem
