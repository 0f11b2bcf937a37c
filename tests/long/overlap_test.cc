// Measures the effect of overlap with simulated stage times, over 50 updates.
#include <gtest/gtest.h>

#include <thread>

#include "base/stopwatch.h"
#include "train/modes.h"

namespace tandem {
namespace {

constexpr int kUpdates = 50;
const Schema kSchema{.columns = {{.name = "n", .type = ElementType::kFloat32, .width = 1}}};

void SleepFor(double seconds) {
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
}

class SlowGenerator final : public Generator {
 public:
  explicit SlowGenerator(double seconds) : seconds_(seconds) {}
  bool needs_network() const override { return true; }
  const Schema& schema() const override { return kSchema; }
  void Fill(const FillRequest&, DataBuffer&, const StopSignal&) override { SleepFor(seconds_); }

 private:
  const double seconds_;
};

class SlowTrainer final : public Trainer {
 public:
  explicit SlowTrainer(double seconds) : seconds_(seconds) {}
  void PublishTarget() override {}
  TrainStats Train(std::int64_t, const DataBuffer&, const StopSignal&) override {
    SleepFor(seconds_);
    return {.iterations = 1};
  }
  void BetweenIterations(std::function<void()>) override {}

 private:
  const double seconds_;
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
    StopSignal stop;
    const auto make = async ? &MakeAsyncPipeline : &MakeSequentialPipeline;
    const auto pipeline =
        make(generator, trainer, kSchema,
             {.rows_per_update = 1, .max_updates = kUpdates, .policy_lag = 1}, stop);
    const Stopwatch watch;
    double cold_start_s = 0;
    for (int k = 0; k < kUpdates; ++k) {
      const UpdateRecord record = pipeline->RunUpdate();
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

}  // namespace
}  // namespace tandem
