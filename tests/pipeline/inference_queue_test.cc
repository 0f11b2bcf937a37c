#include <gtest/gtest.h>

#include <future>

#include "base/stop_signal.h"
#include "pipeline/generator_thread.h"
#include "support/game_evaluators.h"
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

TEST(InferenceQueue, GivesEveryKindOfValueThatTheNetworkGives) {
  OpinionatedEvaluator network;
  InferenceQueue queue(network);
  EXPECT_EQ(queue.action_values(), ActionValues::kSurprisals);
  using Method = void (Evaluator::*)(ConstRows, std::span<float>);
  const std::vector<std::uint8_t> bytes = {1, 2, 3, 4};
  const ConstRows inputs(bytes.data(), 2, 2);
  const auto values_of = [&](Evaluator& of, Method method, std::size_t size) {
    std::vector<float> values(size);
    (of.*method)(inputs, values);
    return values;
  };
  for (const auto& [method, size] : {std::pair<Method, std::size_t>{&Evaluator::Evaluate, 2},
                                     {&Evaluator::EvaluateActions, 6},
                                     {&Evaluator::EvaluateWithActions, 8}}) {
    auto asked = std::async(std::launch::async, [&queue, &values_of, method, size] {
      std::vector<float> values = values_of(queue, method, size);
      queue.FillEnds();
      return values;
    });
    queue.ServeUntilFillEnds();
    EXPECT_EQ(asked.get(), values_of(network, method, size));
  }
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
