#include <gtest/gtest.h>

#include <future>

#include "base/stop_signal.h"
#include "pipeline/generator_thread.h"
#include "support/stand_in_evaluator.h"
#include "tandem/error.h"

namespace tandem {
namespace {

// A queue for a network that counts its queries and returns its input plus one.
struct CountingQueue {
  int queries = 0;
  StandInEvaluator network{[this](std::span<const std::uint8_t> row) {
    ++queries;
    return static_cast<float>(row[0]) + 1;
  }};
  InferenceQueue queue{network};

  float Ask(std::uint8_t input) {
    float value = 0;
    queue.Evaluate(ConstRows(&input, 1, 1), {&value, 1});
    return value;
  }
};

TEST(InferenceQueue, ServesRequestsUntilTheFillEnds) {
  CountingQueue q;
  auto sum = std::async(std::launch::async, [&] {
    float total = 0;
    for (int i = 0; i < 5; ++i) total += q.Ask(static_cast<std::uint8_t>(i));
    q.queue.FillEnds();
    return total;
  });
  q.queue.ServeUntilFillEnds();
  EXPECT_EQ(sum.get(), 15);
  EXPECT_EQ(q.queries, 5);
}

TEST(InferenceQueue, RethrowsExceptionsOfTheNetworkOnTheGeneratorThread) {
  StandInEvaluator network([](std::span<const std::uint8_t>) -> float { throw Error("broken"); });
  InferenceQueue queue(network);
  auto fill = std::async(std::launch::async, [&] {
    const std::uint8_t input = 0;
    float value = 0;
    EXPECT_THROW(queue.Evaluate(ConstRows(&input, 1, 1), {&value, 1}), Error);
    queue.FillEnds();
  });
  queue.ServeUntilFillEnds();
  fill.get();
}

TEST(InferenceQueue, CloseWakesAWaitingRequestAndRejectsLaterOnes) {
  CountingQueue q;
  auto asks = std::async(std::launch::async, [&] { EXPECT_THROW(q.Ask(0), Stopped); });
  q.queue.Close(std::make_exception_ptr(Stopped()));
  q.queue.Close(std::make_exception_ptr(Error("a second reason does not count")));
  asks.get();
  EXPECT_THROW(q.Ask(0), Stopped);
  EXPECT_EQ(q.queries, 0);
}

}  // namespace
}  // namespace tandem
