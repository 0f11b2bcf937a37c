// Tests rows that get the goal that their search did reach.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>

#include "generate/bellman.h"
#include "generate/generator.h"
#include "support/generator_config.h"
#include "support/searches.h"
#include "support/small_puzzles.h"
#include "support/stand_in_evaluator.h"
#include "tandem/error.h"
#include "tandem/registry.h"

namespace tandem {
namespace {

constexpr std::int64_t kRows = 480;
constexpr std::size_t kSteps = 8;

class Hindsight : public testing::TestWithParam<const char*> {
 protected:
  static Config MakeConfig(bool hindsight, Head head = Head::kV) {
    return GeneratorConfig({.target = Target::kValueIteration,
                            .search = GenerateSearch::kGreedy,
                            .search_iterations = kSteps,
                            .search_epsilon = 0.8,
                            .hindsight = hindsight,
                            .max_scramble = 30,
                            .workers = 2,
                            .chunk_rows = 16},
                           head);
  }

  DataBuffer Filled(const Config& config) const {
    // Knows nothing, so that few searches reach a goal.
    StandInEvaluator network([](std::span<const std::uint8_t>) { return 20.0F; });
    const auto generator = MakeGenerator(*domain_, config, &network);
    DataBuffer rows(generator->schema(), kRows);
    generator->Fill({.rows = kRows}, rows, StopSignal());
    return rows;
  }

  bool IsChanged(const DataBuffer& before, const DataBuffer& after, std::size_t row) const {
    return !std::ranges::equal(before.column(0)[row], after.column(0)[row]);
  }

  float LeastCostOf(std::span<const std::uint8_t> state) const {
    StandInEvaluator zero([](std::span<const std::uint8_t>) { return 0.0F; });
    AStar astar(*domain_, zero, {.search = {.weight = 1}});
    const SearchResult result = astar.Solve(state, StopSignal());
    EXPECT_TRUE(result.solved) << domain_->FormatState(state);
    return result.cost;
  }

  const std::unique_ptr<const Domain> domain_ = MakeDomain(GetParam());
};

TEST_P(Hindsight, ChangedRowsAreLabelledWithTheCostOfAWayToTheirNewGoal) {
  const DataBuffer before = Filled(MakeConfig(false));
  const DataBuffer after = Filled(MakeConfig(true));
  int changed = 0;
  int goals = 0;
  for (std::size_t i = 0; i < kRows; ++i) {
    const float label = after.floats(kTargetColumn)[i];
    if (!IsChanged(before, after, i)) continue;
    ++changed;
    // The input of these puzzles is the state.
    const auto state = after.column(kInputColumn)[i];
    EXPECT_EQ(label == 0, IsGoal(*domain_, state));
    EXPECT_GE(label, LeastCostOf(state) - 1e-4F);
    EXPECT_LT(label, 1.5F * kSteps);
    goals += label == 0 ? 1 : 0;
  }
  EXPECT_GT(changed, 10);
  EXPECT_GT(goals, 2);
}

TEST_P(Hindsight, RowsThatAreLabelledLaterGetTheCostAsTheirBound) {
  const DataBuffer labelled = Filled(MakeConfig(true));
  const DataBuffer before = Filled(MakeConfig(false));
  Config config = MakeConfig(true);
  config.pipeline.mode = Mode::kSyncMain;
  const DataBuffer states = Filled(config);
  EXPECT_TRUE(std::ranges::equal(states.column(kStateColumn).bytes(),
                                 labelled.column(kInputColumn).bytes()));
  StandInEvaluator pessimist([](std::span<const std::uint8_t>) { return 900.0F; });
  StoredStateLabeller labeller(*domain_, pessimist, config);
  DataBuffer later(labeller.example_schema(), kRows);
  const StopSignal stop;
  labeller.Start(/*update=*/0, states, later, stop).Run();
  int unbounded = 0;
  for (std::size_t i = 0; i < kRows; ++i) {
    unbounded += later.floats(kTargetColumn)[i] > 900 ? 1 : 0;
    if (!IsChanged(before, labelled, i)) continue;
    EXPECT_EQ(states.floats(kBoundColumn)[i], labelled.floats(kTargetColumn)[i]);
    EXPECT_LE(later.floats(kTargetColumn)[i], labelled.floats(kTargetColumn)[i]);
  }
  EXPECT_GT(unbounded, 10);
}

TEST_P(Hindsight, ChangedRowsOfAQNetLabelTheActionOfTheWayAlone) {
  const DataBuffer before = Filled(MakeConfig(false));
  const DataBuffer values = Filled(MakeConfig(true));
  const DataBuffer rows = Filled(MakeConfig(true, Head::kQ));
  const std::size_t actions = domain_->spec().num_actions();
  EXPECT_FALSE(HasWeights(Filled(MakeConfig(false, Head::kQ)).schema()));
  ASSERT_TRUE(HasWeights(rows.schema()));
  int all_labelled = 0;  // unchanged rows with all actions labelled
  EXPECT_TRUE(
      std::ranges::equal(rows.column(kInputColumn).bytes(), values.column(kInputColumn).bytes()));
  for (std::size_t i = 0; i < kRows; ++i) {
    const auto weights = rows.floats(kWeightColumn).subspan(i * actions, actions);
    const auto labelled = std::ranges::count(weights, 1.0F);
    EXPECT_EQ(labelled + std::ranges::count(weights, 0.0F), std::ssize(weights));
    if (!IsChanged(before, values, i)) {
      // A row of the path may keep its state and get a new label, so not all of these count.
      all_labelled += labelled == std::ssize(weights) ? 1 : 0;
      continue;
    }
    const float cost = values.floats(kTargetColumn)[i];
    int on_way = 0;
    for (std::size_t action = 0; action < actions; ++action) {
      if (weights[action] == 0) continue;
      const float label = rows.floats(kTargetColumn)[i * actions + action];
      on_way += label == cost ? 1 : 0;
      // Any other labelled action does not apply: it has its cost and changes nothing.
      const float of_idle = cost + domain_->spec().action_costs[action];
      EXPECT_TRUE(label == cost || label == of_idle) << label << " is not " << of_idle;
    }
    EXPECT_EQ(on_way, cost == 0 ? 0 : 1);
  }
  EXPECT_GT(all_labelled, kRows / 4);
}

TEST_P(Hindsight, ChangedRowsOfHeadQInLabelTheActionOfTheWay) {
  const DataBuffer values = Filled(MakeConfig(true));
  const DataBuffer before = Filled(MakeConfig(false, Head::kQIn));
  const DataBuffer rows = Filled(MakeConfig(true, Head::kQIn));
  const auto positions = static_cast<std::size_t>(domain_->spec().input.positions);
  int changed = 0;
  for (std::size_t i = 0; i < kRows; ++i) {
    if (!IsChanged(before, rows, i)) continue;
    ++changed;
    const auto state = rows.column(kInputColumn)[i].first(positions);
    EXPECT_FALSE(IsGoal(*domain_, state));
    EXPECT_TRUE(std::ranges::equal(state, values.column(kInputColumn)[i]));
    EXPECT_EQ(rows.floats(kTargetColumn)[i], values.floats(kTargetColumn)[i]);
  }
  EXPECT_GT(changed, 10);
}

TEST_P(Hindsight, RowsDoNotDependOnWorkersOrChunks) {
  const DataBuffer whole = Filled(MakeConfig(true));
  for (const std::int64_t workers : {1, 3}) {
    Config config = MakeConfig(true);
    config.generate.workers = workers;
    config.generate.chunk_rows = 7 * workers;
    EXPECT_TRUE(std::ranges::equal(Filled(config).bytes(), whole.bytes()));
  }
}

INSTANTIATE_TEST_SUITE_P(Of, Hindsight, testing::Values("grid:6", "sokoban:6"),
                         [](const auto& test) { return std::string(test.param).substr(0, 4); });

TEST(HindsightOfFixedGoals, IsRefusedWithTheReason) {
  const auto cube = MakeDomain("cube2");
  StandInEvaluator network([](std::span<const std::uint8_t>) { return 1.0F; });
  Config config = GeneratorConfig(
      {.target = Target::kValueIteration, .search = GenerateSearch::kGreedy, .hindsight = true});
  try {
    MakeGenerator(*cube, config, &network);
    FAIL() << "nothing was thrown";
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("cube2 cannot give a state another goal"));
  }
}

TEST(MoveGoals, PutsGoalsUnderTheBoxesOrTheWalker) {
  const auto moved = [](const char* name, const char* text, const char* reached_text) {
    const auto domain = MakeDomain(name);
    State state(25);
    State reached(25);
    domain->ParseState(text, state);
    domain->ParseState(reached_text, reached);
    domain->MoveGoals(Rows(std::span(state)), reached);
    return domain->FormatState(state);
  };
  EXPECT_EQ(
      moved("grid:5", "#####\n#@  #\n#   #\n#  .#\n#####", "#####\n#   #\n# @ #\n#  .#\n#####"),
      "#####\n#@  #\n# . #\n#   #\n#####");
  EXPECT_EQ(
      moved("sokoban:5", "#####\n#@$ #\n# . #\n#   #\n#####", "#####\n# @$#\n# . #\n#   #\n#####"),
      "#####\n#@$.#\n#   #\n#   #\n#####");
}

}  // namespace
}  // namespace tandem
