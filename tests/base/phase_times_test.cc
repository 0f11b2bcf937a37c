// Tests of the sums over phases.
#include <gtest/gtest.h>

#include "base/timeline.h"

namespace tandem {
namespace {

TEST(PhaseTimes, AdditionAndSubtractionCoverAllFields) {
  PhaseTimes a, b;
  a[Phase::kForward] = 1;
  a.wall_s = 2;
  a.synchronize_s = 4;
  b[Phase::kForward] = 8;
  b.wall_s = 16;
  b.synchronize_s = 32;
  PhaseTimes sum = a;
  sum += b;
  EXPECT_EQ(sum[Phase::kForward], 9);
  EXPECT_EQ(sum.wall_s, 18);
  EXPECT_EQ(sum.synchronize_s, 36);
  sum -= a;
  EXPECT_EQ(sum[Phase::kForward], 8);
  EXPECT_EQ(sum.wall_s, 16);
  EXPECT_EQ(sum.synchronize_s, 32);
}

TEST(PhaseTimes, WorkExcludesWaits) {
  PhaseTimes times;
  for (const Phase wait : {Phase::kIdle, Phase::kGpuQueueWait, Phase::kWaitForRows,
                           Phase::kWaitForBatch, Phase::kWaitForChunk, Phase::kWaitForRoom}) {
    EXPECT_TRUE(IsWait(wait)) << PhaseName(wait);
    times[wait] = 1;
  }
  times[Phase::kGpuTransfer] = 3;
  times[Phase::kUnnamed] = 5;
  EXPECT_EQ(times.Sum(), 9);
  EXPECT_EQ(times.Work(), 3);
}

}  // namespace
}  // namespace tandem
