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

TEST(DescribeStall, ThreadsThatChangeTheirActivityMakeProgress) {
  EXPECT_EQ(DescribeStall({}, 60), "");
  EXPECT_EQ(
      DescribeStall({{"main", Activity::kForward, 59}, {"generator", Activity::kIdle, 900}}, 60),
      "");
  // A long fill: only the main thread has waited for long.
  EXPECT_EQ(
      DescribeStall(
          {{"main", Activity::kWaitForRows, 300}, {"generator", Activity::kEvaluate, 0.5}}, 60),
      "");
  // Between two updates the other threads wait for the main thread.
  EXPECT_EQ(
      DescribeStall({{"main", Activity::kIdle, 300}, {"disk", Activity::kWaitForRoom, 300}}, 60),
      "");
}

TEST(DescribeStall, NamesTheThreadThatDoesNotReturn) {
  const std::string stall = DescribeStall(
      {{"main", Activity::kForward, 0.1}, {"generator", Activity::kEvaluate, 61}}, 60);
  EXPECT_THAT(stall, StartsWith("no progress for 60 s in thread generator"));
  EXPECT_THAT(stall, HasSubstr("generator: evaluate for 61.0 s"));
  EXPECT_THAT(stall, HasSubstr("main: forward for 0.1 s"));
}

TEST(DescribeStall, NamesWhatEachThreadOfADeadlockWaitsFor) {
  const std::string stall = DescribeStall({{"main", Activity::kWaitForRows, 70},
                                           {"generator", Activity::kWaitForInference, 65},
                                           {"prefetch", Activity::kIdle, 80}},
                                          60);
  EXPECT_THAT(stall, StartsWith("no progress for 60 s: all threads wait"));
  EXPECT_THAT(stall, HasSubstr("main: wait_for_rows for 70.0 s, waits for the generator"));
  EXPECT_THAT(stall, HasSubstr("generator: wait_for_inference for 65.0 s, waits for the main"));
  EXPECT_THAT(stall, testing::Not(HasSubstr("prefetch")));
}

constexpr double kLimit = 0.02;  // seconds

TEST(Watchdog, ReportsAStallOnceAndOnceThatItDidNotEnd) {
  Timeline timeline;
  const Attach attach(timeline.AddMainTrack("main", Activity::kIdle));
  const Span span(Activity::kEvaluate);
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
  const Attach attach(timeline.AddMainTrack("main", Activity::kIdle));
  std::atomic<int> stalls{0}, no_recoveries{0};
  const Watchdog watchdog(timeline, kLimit,
                          {.on_stall = [&](const std::string& /*stall*/) { ++stalls; },
                           .on_no_recovery = [&] { ++no_recoveries; }});
  {
    const Span span(Activity::kEvaluate);
    WaitUntil([&] { return no_recoveries == 1; });
  }
  EXPECT_EQ(stalls, 1);
  // If the watchdog's thread is not scheduled in time, it misses the progress, or the next stall
  // ends before it calls on_no_recovery. So both are repeated.
  for (int round = 0; round < 50 && no_recoveries == 1; ++round) {
    TakeTime(std::chrono::duration<double>(2 * kLimit));
    const Span span(Activity::kEvaluate);
    TakeTime(std::chrono::duration<double>(5 * kLimit));
  }
  EXPECT_GE(stalls, 2);
  EXPECT_GE(no_recoveries, 2);
}

TEST(Watchdog, ReportsAgainIfAReportFails) {
  Timeline timeline;
  const Attach attach(timeline.AddMainTrack("main", Activity::kIdle));
  const Span span(Activity::kEvaluate);
  std::promise<void> reported;
  int tries = 0;
  const Watchdog watchdog(timeline, kLimit, {.on_stall = [&](const std::string& /*stall*/) {
                            if (++tries == 1) throw std::bad_alloc();
                            reported.set_value();
                          }});
  reported.get_future().get();
}

TEST(Timeline, FailedActivityIsThatOfTheInnermostSpan) {
  Timeline timeline;
  const Attach attach(timeline.AddMainTrack("main", Activity::kIdle));
  const auto fail_in = [](Activity activity) {
    const Span outer(Activity::kReport);
    { const Span done(Activity::kForward); }
    const Span inner(activity);
    throw 1;
  };
  for (const Activity activity : {Activity::kWaitForRows, Activity::kCheckpoint}) {
    try {
      fail_in(activity);
      FAIL();
    } catch (int) {
      EXPECT_EQ(Timeline::FailedActivity(), activity);
    }
  }
  { const Span next(Activity::kForward); }
  EXPECT_EQ(Timeline::FailedActivity(), Activity::kUnnamed);
}

}  // namespace
}  // namespace tandem
