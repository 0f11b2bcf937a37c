#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "generate/bellman.h"
#include "generate/generator.h"
#include "generate/labels.h"
#include "support/generator_config.h"
#include "support/ring_domain.h"
#include "support/small_puzzles.h"
#include "support/stand_in_evaluator.h"
#include "support/two_goals_domain.h"
#include "tandem/error.h"
#include "tandem/registry.h"

namespace tandem {
namespace {

constexpr std::int64_t kRows = 2000;

// A poor network: it says 1 for every state.
StandInEvaluator One() {
  return StandInEvaluator([](std::span<const std::uint8_t>) { return 1.0F; });
}

Config ConfigFor(Target target, Head head, double share) {
  return GeneratorConfig({.target = target,
                          .ball_radius = 4,
                          .anchor_share = share,
                          .max_scramble = 12,
                          .workers = 2,
                          .chunk_rows = 256},
                         head);
}

DataBuffer Filled(const Domain& domain, const Config& config, Evaluator* network,
                  FillRequest request = {.rows = kRows}) {
  const auto generator = MakeGenerator(domain, config, network);
  DataBuffer rows(generator->schema(), static_cast<std::size_t>(request.rows));
  generator->Fill(request, rows, StopSignal());
  return rows;
}

std::vector<std::uint8_t> Bytes(const DataBuffer& rows, std::size_t column) {
  const auto bytes = rows.column(column).bytes();
  return {bytes.begin(), bytes.end()};
}

class ExactLabelsTest : public testing::Test {
 protected:
  // Expects that the label of each row in the ball is exact. Returns how many rows that are.
  std::size_t ExpectExact(const DataBuffer& rows, Head head) const {
    const std::size_t width = TargetWidth(pancakes_.spec(), head);
    const auto positions = static_cast<std::size_t>(pancakes_.spec().input.positions);
    std::size_t in_ball = 0;
    for (std::size_t i = 0; i < rows.rows(); ++i) {
      const auto row = rows.column(kInputColumn)[i].first(positions);
      const State state(row.begin(), row.end());
      const int distance = distances_.at(state);
      if (distance > 4) continue;
      ++in_ball;
      const auto label = rows.floats(kTargetColumn).subspan(i * width, width);
      const Action action = head == Head::kQIn ? ActionIn(pancakes_.spec(), rows, i) : Action{0};
      EXPECT_TRUE(std::ranges::equal(label, ExactLabel(state, head, action)));
    }
    return in_ball;
  }

  std::vector<float> ExactLabel(const State& state, Head head, Action action) const {
    const auto distance = static_cast<float>(distances_.at(state));
    std::vector<float> costs;
    for (Action a = 0; a < pancakes_.spec().num_actions(); ++a) {
      costs.push_back(1 + static_cast<float>(distances_.at(After(pancakes_, state, {a}))));
    }
    if (head == Head::kV) return {distance};
    if (head == Head::kQIn) return {costs[action]};
    if (head == Head::kQ) return costs;
    const auto ties = static_cast<float>(std::ranges::count(costs, distance));  // 0 for the goal
    std::vector<float> label;
    if (head == Head::kVp) label.push_back(distance);
    for (const float cost : costs) label.push_back(cost == distance ? 1 / ties : 0);
    return label;
  }

  const PancakeDomain pancakes_{6};
  const StateMap distances_ = Distances(pancakes_);
};

TEST_F(ExactLabelsTest, RowsInTheBallHaveExactLabelsForEveryTargetAndHead) {
  StandInEvaluator one = One();
  for (const Target target :
       {Target::kWalkLength, Target::kValueIteration, Target::kCappedValueIteration}) {
    for (const Head head : {Head::kV, Head::kQ, Head::kQIn, Head::kVp}) {
      for (const double share : {0.0, 0.25}) {
        const DataBuffer rows = Filled(pancakes_, ConfigFor(target, head, share), &one);
        EXPECT_GT(ExpectExact(rows, head), kRows / 10);
      }
    }
  }
}

TEST_F(ExactLabelsTest, OtherTargetsGetThemForTheHeadsThatTheySupport) {
  StandInEvaluator one = One();
  const auto expect = [&](Target target, Head head, double share) {
    const DataBuffer rows = Filled(pancakes_, ConfigFor(target, head, share), &one);
    EXPECT_GT(ExpectExact(rows, head), kRows / 10);
  };
  expect(Target::kPolicy, Head::kPolicy, 0.25);
  expect(Target::kQLearning, Head::kQIn, 0.25);
  expect(Target::kCappedQLearning, Head::kQ, 0.25);
}

TEST_F(ExactLabelsTest, SearchesGetExactLabelsAndAnchorsToo) {
  StandInEvaluator one = One();
  for (const GenerateSearch search : {GenerateSearch::kGreedy, GenerateSearch::kAStar}) {
    Config config = ConfigFor(Target::kCappedValueIteration, Head::kV, 0.25);
    config.generate.search = search;
    config.generate.search_iterations = 10;
    EXPECT_GT(ExpectExact(Filled(pancakes_, config, &one), Head::kV), kRows / 4);
  }
}

TEST_F(ExactLabelsTest, RowsOutsideTheBallKeepTheirLabels) {
  Config config = ConfigFor(Target::kWalkLength, Head::kV, 0);
  const DataBuffer with_ball = Filled(pancakes_, config, nullptr);
  config.generate.ball_radius = 0;
  const DataBuffer without = Filled(pancakes_, config, nullptr);
  EXPECT_EQ(Bytes(with_ball, kInputColumn), Bytes(without, kInputColumn));
  std::size_t changed = 0;
  for (std::size_t i = 0; i < kRows; ++i) {
    const auto row = with_ball.column(kInputColumn)[i];
    const float label = with_ball.floats(kTargetColumn)[i];
    const float walk = without.floats(kTargetColumn)[i];
    if (distances_.at({row.begin(), row.end()}) > 4) {
      EXPECT_EQ(label, walk);
    }
    if (label != walk) ++changed;
  }
  EXPECT_GT(changed, kRows / 10);
}

// Outside the ball, the poor network's estimate of 1 is raised to the least cost out there.
TEST_F(ExactLabelsTest, BackupsOutsideTheBallUseItsCosts) {
  StandInEvaluator one = One();
  const DataBuffer rows = Filled(pancakes_, ConfigFor(Target::kValueIteration, Head::kV, 0), &one);
  for (std::size_t i = 0; i < kRows; ++i) {
    const auto row = rows.column(kInputColumn)[i];
    const int distance = distances_.at({row.begin(), row.end()});
    if (distance > 4) {
      EXPECT_EQ(rows.floats(kTargetColumn)[i], distance == 5 ? 5 : 6);
    }
  }
}

TEST_F(ExactLabelsTest, AnchorsAreTheRequestedShareAndUniformInTheBall) {
  const Config config = ConfigFor(Target::kWalkLength, Head::kV, 0.2);
  const auto exact = MakeExactLabels(pancakes_, config);
  std::size_t anchors = 0;
  double mean = 0;
  for (std::int64_t row = 0; row < 50'000; ++row) {
    const auto anchor = exact->Anchor(3, row);
    if (!anchor) continue;
    ++anchors;
    mean += static_cast<double>(*anchor);
    ASSERT_LT(*anchor, exact->ball()->size());
  }
  EXPECT_NEAR(static_cast<double>(anchors), 10'000, 400);
  const auto middle = static_cast<double>(exact->ball()->size() - 1) / 2;
  EXPECT_NEAR(mean / static_cast<double>(anchors), middle, middle * 0.04);
}

TEST_F(ExactLabelsTest, AnchorShareOfOneDrawsAllStatesOfTheBallEquallyOften) {
  for (const Head head : {Head::kV, Head::kQ, Head::kQIn, Head::kVp}) {
    const DataBuffer rows = Filled(pancakes_, ConfigFor(Target::kWalkLength, head, 1), nullptr);
    EXPECT_EQ(ExpectExact(rows, head), kRows);
  }
  const DataBuffer rows =
      Filled(pancakes_, ConfigFor(Target::kWalkLength, Head::kV, 1), nullptr, {.rows = 20'000});
  std::map<State, int, ByBytes> drawn;
  for (std::size_t i = 0; i < rows.rows(); ++i) {
    const auto row = rows.column(kInputColumn)[i];
    ++drawn[State(row.begin(), row.end())];
  }
  ASSERT_EQ(std::ssize(drawn),
            std::ranges::count_if(distances_, [](const auto& entry) { return entry.second <= 4; }));
  const double expected = 20'000.0 / static_cast<double>(drawn.size());
  for (const auto& [state, times] : drawn) EXPECT_NEAR(times, expected, 6 * std::sqrt(expected));
}

TEST_F(ExactLabelsTest, AnchorsDependNeitherOnWorkersNorOnRanges) {
  Config config = ConfigFor(Target::kWalkLength, Head::kQ, 0.3);
  const DataBuffer whole = Filled(pancakes_, config, nullptr);
  config.generate.workers = 1;
  config.generate.chunk_rows = 77;
  const DataBuffer again = Filled(pancakes_, config, nullptr);
  EXPECT_EQ(Bytes(whole, kInputColumn), Bytes(again, kInputColumn));
  EXPECT_EQ(Bytes(whole, kTargetColumn), Bytes(again, kTargetColumn));
  const DataBuffer part = Filled(pancakes_, config, nullptr, {.first_row = 500, .rows = 100});
  for (std::size_t i = 0; i < 100; ++i) {
    EXPECT_TRUE(
        std::ranges::equal(part.column(kInputColumn)[i], whole.column(kInputColumn)[500 + i]));
  }
  EXPECT_NE(Bytes(Filled(pancakes_, config, nullptr, {.update = 1, .rows = kRows}), kInputColumn),
            Bytes(whole, kInputColumn));
}

TEST_F(ExactLabelsTest, StatesStoredUnlabelledGetExactLabelsLater) {
  StandInEvaluator one = One();
  Config config = ConfigFor(Target::kValueIteration, Head::kV, 0.5);
  config.pipeline.mode = Mode::kSyncMain;
  config.generate.search = GenerateSearch::kGreedy;
  config.generate.search_iterations = 10;
  const auto exact = MakeExactLabels(pancakes_, config);
  const auto generator = MakeGenerator(pancakes_, config, &one, exact);
  DataBuffer states(generator->schema(), kRows);
  generator->Fill({.rows = kRows}, states, StopSignal());
  StoredStateLabeller labeller(pancakes_, one, config, exact);
  DataBuffer examples(labeller.example_schema(), kRows);
  const StopSignal stop;
  labeller.Start(/*update=*/0, states, examples, stop).Run();
  EXPECT_GT(ExpectExact(examples, Head::kV), kRows / 2);
}

// Two rings of 5 cells that turn independently, at costs that no float represents exactly.
class TwoRings final : public RowPuzzle {
 public:
  TwoRings() : RowPuzzle("two_rings", 10, {0.1F, 0.1F, 0.7F, 0.7F}, Turns()) {}

 private:
  static std::vector<Permutation> Turns() {
    std::vector<Permutation> turns;
    for (const int first : {0, 5}) {
      auto turn = InOrder<Permutation>(10);
      std::rotate(turn.begin() + first, turn.begin() + first + 1, turn.begin() + first + 5);
      turns.push_back(turn);
      turns.push_back(Inverse(turn));
    }
    return turns;
  }
};

// The costs of the two orders of turning are different floats in some states.
TEST(ExactLabels, ActionsThatTieExceptForRoundingGetTheSameProbability) {
  const TwoRings rings;
  const Config config =
      GeneratorConfig({.target = Target::kWalkLength, .ball_radius = 10, .workers = 1}, Head::kVp);
  const auto exact = MakeExactLabels(rings, config);
  ASSERT_EQ(exact->ball()->size(), 25U);
  DataBuffer rows(ExampleSchema(rings.spec(), Head::kVp), 1);
  for (std::size_t first = 0; first < 5; ++first) {
    for (std::size_t second = 0; second < 5; ++second) {
      std::vector<Action> turns(first, Action{0});
      turns.insert(turns.end(), second, Action{2});
      const auto state = After(rings, GoalOf(rings), turns);
      ASSERT_EQ(exact->Write(ConstRows(state), std::vector<std::size_t>{0}, rows).front(), 1);
      std::vector<float> expected(4, 0);
      const float share = first > 0 && second > 0 ? 0.5F : 1;
      if (first > 0) expected[first <= 2 ? 1 : 0] = share;
      if (second > 0) expected[second <= 2 ? 3 : 2] = share;
      EXPECT_TRUE(std::ranges::equal(rows.floats(kTargetColumn).subspan(1), expected))
          << first << " " << second;
    }
  }
}

TEST_F(ExactLabelsTest, RefusesABallThatDoesNotFit) {
  Config config = ConfigFor(Target::kWalkLength, Head::kV, 0);
  config.generate.ball_radius = 9;
  config.memory.ball_limit_gib = 0.001;
  try {
    MakeGenerator(*MakeDomain("cube3"), config, nullptr);
    FAIL() << "nothing was thrown";
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("radius 4 fits"));
  }
}

TEST(ExactLabels, WalksRefuseASecondGoal) {
  const TwoGoalsDomain path(10);
  const Config config = ConfigFor(Target::kWalkLength, Head::kV, 0);
  EXPECT_THAT([&] { Filled(path, config, nullptr); },
              testing::ThrowsMessage<InputError>(
                  testing::HasSubstr("there is more than one goal, for example 9")));
}

}  // namespace
}  // namespace tandem
