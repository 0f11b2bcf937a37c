#include "base/watchdog.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <new>
#include <string>
#include <vector>

#include "support/wait.h"

namespace tandem {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

TEST(DescribeStall, ThreadsThatChangeTheirPhaseMakeProgress) {
  EXPECT_EQ(DescribeStall({}, 60), "");
  EXPECT_EQ(DescribeStall({{"main", Phase::kForward, 59}, {"generator", Phase::kIdle, 900}}, 60),
            "");
  // A long fill: only the main thread has waited for long.
  EXPECT_EQ(
      DescribeStall({{"main", Phase::kWaitForRows, 300}, {"generator", Phase::kEvaluate, 0.5}}, 60),
      "");
  // Between two updates the other threads wait for the main thread.
  EXPECT_EQ(DescribeStall({{"main", Phase::kIdle, 300}, {"disk", Phase::kWaitForRoom, 300}}, 60),
            "");
}

TEST(DescribeStall, NamesTheThreadThatDoesNotReturn) {
  const std::string stall =
      DescribeStall({{"main", Phase::kForward, 0.1}, {"generator", Phase::kEvaluate, 61}}, 60);
  EXPECT_THAT(stall, StartsWith("no progress for 60 s in thread generator"));
  EXPECT_THAT(stall, HasSubstr("generator: evaluate for 61.0 s"));
  EXPECT_THAT(stall, HasSubstr("main: forward for 0.1 s"));
}

TEST(DescribeStall, NamesWhatEachThreadOfADeadlockWaitsFor) {
  const std::string stall = DescribeStall({{"main", Phase::kWaitForRows, 70},
                                           {"generator", Phase::kWaitForInference, 65},
                                           {"prefetch", Phase::kIdle, 80}},
                                          60);
  EXPECT_THAT(stall, StartsWith("no progress for 60 s: all threads wait"));
  EXPECT_THAT(stall, HasSubstr("main: wait_for_rows for 70.0 s, waits for the generator"));
  EXPECT_THAT(stall, HasSubstr("generator: wait_for_inference for 65.0 s, waits for the main"));
  EXPECT_THAT(stall, testing::Not(HasSubstr("prefetch")));
}

constexpr double kLimit = 0.02;  // seconds

TEST(Watchdog, ReportsAStallOnceAndOnceThatItDidNotEnd) {
  Timeline timeline;
  const Attach attach(timeline.AddMainTrack("main", Phase::kIdle));
  const Span span(Phase::kEvaluate);
  std::vector<std::string> stalls;
  std::atomic<int> no_recoveries{0};
  {
    const Watchdog watchdog(timeline, kLimit,
                            {.on_stall = [&](const std::string& stall) { stalls.push_back(stall); },
                             .on_no_recovery = [&] { ++no_recoveries; }});
    WaitUntil([&] { return no_recoveries > 0; });
    TakeTime(std::chrono::duration<double>(5 * kLimit));  // enough for more calls
  }
  ASSERT_EQ(stalls.size(), 1);
  EXPECT_THAT(stalls[0], HasSubstr("main: evaluate for"));
  EXPECT_EQ(no_recoveries, 1);
}

TEST(Watchdog, ReportsTheNextStallAfterProgress) {
  Timeline timeline;
  const Attach attach(timeline.AddMainTrack("main", Phase::kIdle));
  std::atomic<int> stalls{0}, no_recoveries{0};
  const Watchdog watchdog(timeline, kLimit,
                          {.on_stall = [&](const std::string& /*stall*/) { ++stalls; },
                           .on_no_recovery = [&] { ++no_recoveries; }});
  {
    const Span span(Phase::kEvaluate);
    WaitUntil([&] { return no_recoveries == 1; });
  }
  EXPECT_EQ(stalls, 1);
  // If the watchdog's thread is not scheduled in time, it misses the progress, or the next stall
  // ends before it calls on_no_recovery. So both are repeated.
  for (int round = 0; round < 50 && no_recoveries == 1; ++round) {
    TakeTime(std::chrono::duration<double>(2 * kLimit));
    const Span span(Phase::kEvaluate);
    TakeTime(std::chrono::duration<double>(5 * kLimit));
  }
  EXPECT_GE(stalls, 2);
  EXPECT_GE(no_recoveries, 2);
}

TEST(Watchdog, ReportsAgainIfAReportFails) {
  Timeline timeline;
  const Attach attach(timeline.AddMainTrack("main", Phase::kIdle));
  const Span span(Phase::kEvaluate);
  std::promise<void> reported;
  int tries = 0;
  const Watchdog watchdog(timeline, kLimit, {.on_stall = [&](const std::string& /*stall*/) {
                            if (++tries == 1) throw std::bad_alloc();
                            reported.set_value();
                          }});
  reported.get_future().get();
}

TEST(Timeline, FailedPhaseIsThatOfTheInnermostSpan) {
  Timeline timeline;
  const Attach attach(timeline.AddMainTrack("main", Phase::kIdle));
  const auto fail_in = [](Phase phase) {
    const Span outer(Phase::kReport);
    { const Span done(Phase::kForward); }
    const Span inner(phase);
    throw 1;
  };
  for (const Phase phase : {Phase::kWaitForRows, Phase::kCheckpoint}) {
    try {
      fail_in(phase);
      FAIL();
    } catch (int) {
      EXPECT_EQ(Timeline::FailedPhase(), phase);
    }
  }
  { const Span next(Phase::kForward); }
  EXPECT_EQ(Timeline::FailedPhase(), Phase::kUnnamed);
}

}  // namespace
}  // namespace tandem
