#include "pipeline/main_thread_evaluator.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "base/stop_signal.h"
#include "support/stand_in_evaluator.h"
#include "tandem/error.h"

namespace tandem {
namespace {

TEST(MainThreadEvaluator, OnceClosedNobodyWaits) {
  int asked = 0;
  StandInEvaluator network([&](std::span<const std::uint8_t>) {
    ++asked;
    return 0.0F;
  });
  MainThreadEvaluator questions(network);
  const std::uint8_t input = 0;
  float answer = 0;
  const auto ask = [&] { questions.Evaluate(ConstRows(&input, 1, 1), {&answer, 1}); };
  std::thread asks([&] { EXPECT_THROW(ask(), Stopped); });
  std::this_thread::sleep_for(std::chrono::milliseconds(10));  // so that it waits, as a rule
  questions.Close(std::make_exception_ptr(Stopped()));
  questions.Close(std::make_exception_ptr(Error("a second reason does not count")));
  asks.join();
  EXPECT_THROW(ask(), Stopped);
  questions.Answer();
  EXPECT_EQ(asked, 0);  // whoever asked has gone
}

}  // namespace
}  // namespace tandem
