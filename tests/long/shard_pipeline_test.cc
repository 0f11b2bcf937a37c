// Measures the throughput of the three stages from disk to training; each one is the slowest once.
#include <gtest/gtest.h>

#include "support/timed_stages.h"

namespace tandem {
namespace {

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
