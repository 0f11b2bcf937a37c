#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "search/evaluation.h"
#include "support/head_evaluator.h"
#include "support/path_domain.h"
#include "support/stand_in_evaluator.h"
#include "tandem/error.h"

namespace tandem {
namespace {

// Estimates a state by its first byte, gives action a the value 100 * a more, and records the
// number of states of each call.
class Recorder final : public HeadEvaluator {
 public:
  Recorder() : HeadEvaluator(Head::kQ) {}
  void Evaluate(ConstRows inputs, std::span<float> values) override {
    sizes_.push_back(inputs.size());
    for (std::size_t i = 0; i < inputs.size(); ++i) values[i] = inputs[i][0];
  }
  void EvaluateActions(ConstRows inputs, std::span<float> values) override {
    sizes_.push_back(inputs.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = static_cast<float>(inputs[i / 2][0] + 100 * (i % 2));
    }
  }

  const std::vector<std::size_t>& sizes() const { return sizes_; }

 private:
  std::vector<std::size_t> sizes_;
};

const std::vector<std::uint8_t> kStates = {10, 20, 30, 40, 50, 60, 70, 80, 90, 100};

TEST(BatchEvaluator, EvaluatesAllStatesInSlices) {
  const PathDomain path(256);
  Recorder recorder;
  BatchEvaluator evaluator(path, recorder, 4);
  const auto values = evaluator.Estimate(ConstRows(kStates.data(), 10, 1), StopSignal());
  EXPECT_TRUE(std::ranges::equal(values, kStates));
  EXPECT_EQ(recorder.sizes(), (std::vector<std::size_t>{4, 4, 2}));
}

TEST(BatchEvaluator, ChildrenThatAreLeftOutAreNotEvaluated) {
  const PathDomain path(256);
  Recorder recorder;
  BatchEvaluator evaluator(path, recorder, 4);
  Expander expander(path);
  const std::vector<std::uint8_t> states = {10, 255, 30};  // no action leads on from the second
  expander.Expand(ConstRows(states.data(), 3, 1));
  const std::vector<float> values = evaluator.ValuesOfChildren(
      Ranking::kByStates, ConstRows(states.data(), 3, 1), expander, StopSignal());
  EXPECT_EQ(values, (std::vector<float>{9, 11, 254, 0, 29, 31}));
  EXPECT_EQ(recorder.sizes(), (std::vector<std::size_t>{4, 1}));
}

TEST(BatchEvaluator, EvaluatesActionsInSlices) {
  const PathDomain path(256);
  Recorder recorder;
  BatchEvaluator evaluator(path, recorder, 2);
  const auto values = evaluator.EvaluateActions(ConstRows(kStates.data(), 3, 1), StopSignal());
  EXPECT_TRUE(std::ranges::equal(values, std::vector<float>{10, 110, 20, 120, 30, 130}));
  EXPECT_EQ(recorder.sizes(), (std::vector<std::size_t>{2, 1}));
}

TEST(BatchEvaluator, StopsBetweenSlices) {
  const PathDomain path(256);
  StopSignal stop;
  int rows = 0;
  StandInEvaluator asks_to_stop([&](std::span<const std::uint8_t>) {
    ++rows;
    stop.Request();
    return 0.0F;
  });
  BatchEvaluator evaluator(path, asks_to_stop, 4);
  const std::vector<std::uint8_t> states(100, 1);
  EXPECT_THROW(evaluator.Estimate(ConstRows(states.data(), 100, 1), stop), Stopped);
  EXPECT_EQ(rows, 4);
}

TEST(BatchEvaluator, NanEstimateNamesTheState) {
  const PathDomain path(4);
  StandInEvaluator broken(
      [](std::span<const std::uint8_t> state) { return state[0] == 3 ? std::nanf("") : 0.0F; });
  BatchEvaluator evaluator(path, broken, 4);
  const std::vector<std::uint8_t> states = {1, 3};
  try {
    evaluator.Estimate(ConstRows(states.data(), 2, 1), StopSignal());
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("state 3 is not a number"), std::string::npos);
  }
}

}  // namespace
}  // namespace tandem
