// Tests the rows of head q_in, whose input has an action.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "data/examples.h"
#include "generate/generator.h"
#include "support/generator_config.h"
#include "support/path_domain.h"
#include "support/stand_in_evaluator.h"
#include "tandem/registry.h"

namespace tandem {
namespace {

using testing::Each;
using testing::ElementsAre;

constexpr std::int64_t kRows = 400;

DataBuffer Filled(const Domain& domain, const Config& config) {
  StandInEvaluator network([](std::span<const std::uint8_t> state) {
    float total = 3;
    for (std::size_t i = 0; i < state.size(); ++i) total += float(i % 7) * state[i] / 16;
    return total;
  });
  const auto generator = MakeGenerator(domain, config, &network);
  DataBuffer rows(generator->schema(), kRows);
  generator->Fill({.update = 2, .first_row = 5, .rows = kRows}, rows, StopSignal());
  return rows;
}

Config ConfigFor(Head head, Target target) {
  return GeneratorConfig({.target = target, .max_scramble = 10, .workers = 2, .chunk_rows = 33},
                         head);
}

TEST(ActionInput, HasOnePositionIfTheDepthHoldsEveryActionAndElseOneForEach) {
  const auto cube = MakeDomain("cube3");
  const InputLayout of_cube = InputFor(cube->spec(), Head::kQIn);  // 12 actions, depth 6
  EXPECT_EQ(of_cube.positions, 54 + 12);
  EXPECT_EQ(of_cube.depth, 6);
  const auto puzzle = MakeDomain("npuzzle:3");
  const InputLayout of_puzzle = InputFor(puzzle->spec(), Head::kQIn);  // 4 actions, depth 9
  EXPECT_EQ(of_puzzle.positions, 9 + 1);
  EXPECT_EQ(of_puzzle.depth, 9);
  EXPECT_EQ(InputFor(cube->spec(), Head::kQ).positions, 54);
  std::vector<std::uint8_t> action(4, 7);
  EncodeAction(2, action);
  EXPECT_THAT(action, ElementsAre(0, 0, 1, 0));
  EXPECT_EQ(DecodeAction(action), 2);
  std::vector<std::uint8_t> one = {7};
  EncodeAction(2, one);
  EXPECT_THAT(one, ElementsAre(2));
  EXPECT_EQ(DecodeAction(one), 2);
}

// Each row of q_in has one of the labels that the same row has for head q.
TEST(ActionInput, RowsHaveOneOfTheActionsThatTheRowsOfAQNetLabel) {
  for (const char* name : {"cube3", "npuzzle:3"}) {
    const auto domain = MakeDomain(name);
    const DomainSpec& spec = domain->spec();
    const auto positions = static_cast<std::size_t>(spec.input.positions);
    const auto num_actions = static_cast<std::size_t>(spec.num_actions());
    for (const Target target : {Target::kWalkLength, Target::kQLearning, Target::kCappedQLearning,
                                Target::kValueIteration, Target::kCappedValueIteration}) {
      const DataBuffer q = Filled(*domain, ConfigFor(Head::kQ, target));
      const DataBuffer q_in = Filled(*domain, ConfigFor(Head::kQIn, target));
      EXPECT_FALSE(HasWeights(q_in.schema()));
      std::vector<int> drawn(num_actions);
      std::vector<std::uint8_t> encoded(q_in.column(kInputColumn).row_size() - positions);
      for (std::size_t i = 0; i < q.rows(); ++i) {
        const auto input = q_in.column(kInputColumn)[i];
        EXPECT_TRUE(std::ranges::equal(input.first(positions), q.column(kInputColumn)[i]));
        std::size_t found = 0;
        for (std::size_t a = 0; a < num_actions; ++a) {
          EncodeAction(static_cast<Action>(a), encoded);
          if (!std::ranges::equal(input.subspan(positions), encoded)) continue;
          ++found;
          ++drawn[a];
          if (HasWeights(q.schema())) {
            EXPECT_EQ(q.floats(kWeightColumn)[i * num_actions + a], 1);
          }
          EXPECT_EQ(q.floats(kTargetColumn)[i * num_actions + a], q_in.floats(kTargetColumn)[i]);
        }
        EXPECT_EQ(found, 1U);
      }
      EXPECT_GT(std::ranges::min(drawn), 0);
    }
  }
}

TEST(ActionInput, SearchesVisitTheSameStatesAsForAQNet) {
  const auto puzzle = MakeDomain("npuzzle:3");
  const auto with_search = [&](Head head, Backup backup) {
    Config config = ConfigFor(head, Target::kValueIteration);
    config.generate.search = GenerateSearch::kAStar;
    config.generate.search_iterations = 20;
    config.generate.backup = backup;
    return Filled(*puzzle, config);
  };
  for (const Backup backup : {Backup::kOneStep, Backup::kLhbl, Backup::kUbSoln}) {
    const DataBuffer q = with_search(Head::kQ, backup);
    const DataBuffer q_in = with_search(Head::kQIn, backup);
    for (std::size_t i = 0; i < q.rows(); ++i) {
      const std::size_t action = ActionIn(puzzle->spec(), q_in, i);
      EXPECT_TRUE(
          std::ranges::equal(q_in.column(kInputColumn)[i].first(9), q.column(kInputColumn)[i]));
      EXPECT_EQ(q_in.floats(kTargetColumn)[i], q.floats(kTargetColumn)[i * 4 + action]);
    }
  }
}

TEST(ActionInput, WalksLabelTheStepBackInAboutHalfOfTheRows) {
  const auto cube = MakeDomain("cube3");
  const DataBuffer rows = Filled(*cube, ConfigFor(Head::kQIn, Target::kWalkLength));
  int back = 0;
  for (std::size_t i = 0; i < rows.rows(); ++i) {
    const auto length = static_cast<float>((i + 5) % 10 + 1);
    const float label = rows.floats(kTargetColumn)[i];
    EXPECT_TRUE(label == length || label == length + 2) << label;
    back += label == length ? 1 : 0;
  }
  EXPECT_NEAR(back, kRows / 2, 50);
}

TEST(ActionInput, WithoutAnApplicableActionTheLabelIsTheCostOfStayingAtTheGoal) {
  const PathDomain point(1);
  const DataBuffer rows = Filled(point, ConfigFor(Head::kQIn, Target::kWalkLength));
  EXPECT_THAT(rows.floats(kTargetColumn), Each(1.0F));
}

}  // namespace
}  // namespace tandem
