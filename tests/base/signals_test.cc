// Signals that end a program or ask it to stop.
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <csignal>

#include "base/stop_signal.h"
#include "support/wait.h"

namespace tandem {
namespace {

// A shell starts a job in the background with SIGINT ignored, and other programs ignore SIGPIPE.
const bool kSignalsHaveTheirDefaults =
    std::signal(SIGINT, SIG_DFL) != SIG_ERR && std::signal(SIGPIPE, SIG_DFL) != SIG_ERR;

// Waits longer than two copies of one request are apart.
void WaitBetweenRequests() { TakeTime(std::chrono::milliseconds(300)); }

TEST(StopOnSignalsDeathTest, SecondSignalAfterAPauseEndsTheProgram) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(
      {
        const StopOnSignals signals;
        raise(SIGINT);
        if (signals.stop().requested()) WaitBetweenRequests();
        raise(SIGINT);
        _exit(0);
      },
      testing::ExitedWithCode(130), "");
}

TEST(StopOnSignalsDeathTest, CopyOfASignalAtTheSameTimeDoesNotEndTheProgram) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(
      {
        const StopOnSignals signals;
        raise(SIGTERM);
        raise(SIGTERM);
        _exit(signals.stop().requested() && signals.caught() == SIGTERM ? 7 : 8);
      },
      testing::ExitedWithCode(7), "");
}

TEST(StopOnSignalsDeathTest, AClosedPipeStopsARunAndNeverEndsIt) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(
      {
        const StopOnSignals signals(ClosedPipe::kStops);
        raise(SIGPIPE);
        WaitBetweenRequests();
        raise(SIGPIPE);
        _exit(signals.stop().requested() && signals.caught() == SIGPIPE ? 7 : 8);
      },
      testing::ExitedWithCode(7), "");
  EXPECT_EXIT(
      {
        const StopOnSignals signals;
        raise(SIGPIPE);
        _exit(0);
      },
      testing::KilledBySignal(SIGPIPE), "");
}

TEST(StopOnSignals, OfAnotherProgramTakeEverySigintAsARequest) {
  StopSignal stop;
  const StopOnSignals interrupt(stop);
  EXPECT_EQ(interrupt.caught(), 0);
  raise(SIGINT);
  WaitBetweenRequests();
  raise(SIGINT);
  EXPECT_TRUE(stop.requested());
  EXPECT_EQ(interrupt.caught(), SIGINT);
}

TEST(StopOnSignals, SigintThatIsIgnoredRequestsNothing) {
  const auto before = std::signal(SIGINT, SIG_IGN);
  StopSignal stop;
  {
    const StopOnSignals interrupt(stop);
    raise(SIGINT);
    EXPECT_EQ(interrupt.caught(), 0);
  }
  EXPECT_FALSE(stop.requested());
  EXPECT_EQ(std::signal(SIGINT, before), SIG_IGN);
}

TEST(StopOnSignalsDeathTest, OfAnotherProgramGivesSigintBackWhenItEnds) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(
      {
        StopSignal stop;
        { const StopOnSignals interrupt(stop); }
        raise(SIGINT);
        _exit(0);
      },
      testing::KilledBySignal(SIGINT), "");
}

TEST(IsNewRequest, IsFalseOnlyForAnImmediateRepetitionNotFromATerminal) {
  EXPECT_FALSE(IsNewRequest(/*from_terminal=*/false, 0.01));
  EXPECT_TRUE(IsNewRequest(/*from_terminal=*/false, 0.5));
  EXPECT_TRUE(IsNewRequest(/*from_terminal=*/true, 0.01));
}

}  // namespace
}  // namespace tandem
