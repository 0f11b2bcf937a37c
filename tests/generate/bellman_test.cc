#include "generate/bellman.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>

#include "generate/generator.h"
#include "support/generator_config.h"
#include "support/path_domain.h"
#include "support/stand_in_evaluator.h"
#include "tandem/error.h"
#include "tandem/registry.h"

namespace tandem {
namespace {

constexpr std::int64_t kRows = 300;

StandInEvaluator Guess() {
  return StandInEvaluator([](std::span<const std::uint8_t> state) {
    float total = 0;
    for (std::size_t i = 0; i < state.size(); ++i) total += float(i % 5) * state[i];
    return total / 8;
  });
}

class StoredStates : public testing::Test {
 protected:
  static Config ConfigFor(Head head, Target target) {
    return GeneratorConfig({.target = target,
                            .search = GenerateSearch::kGreedy,
                            .search_iterations = 12,
                            .search_epsilon = 0.1,
                            .max_scramble = 9,
                            .workers = 2,
                            .chunk_rows = 64},
                           head);
  }

  DataBuffer Generated(Config config, Mode mode) {
    config.pipeline.mode = mode;
    StandInEvaluator guess = Guess();
    const auto generator = MakeGenerator(*cube_, config, &guess);
    DataBuffer rows(generator->schema(), kRows);
    generator->Fill({.update = 0, .first_row = 0, .rows = kRows}, rows, StopSignal());
    return rows;
  }

  const std::unique_ptr<const Domain> cube_ = MakeDomain("cube2");
};

TEST_F(StoredStates, GetTheSameLabelsAsInTheGenerator) {
  for (const Head head : {Head::kV, Head::kQ, Head::kQIn}) {
    for (const Target target : {Target::kValueIteration, Target::kCappedValueIteration}) {
      const Config config = ConfigFor(head, target);
      const DataBuffer expected = Generated(config, Mode::kAsync);
      const DataBuffer states = Generated(config, Mode::kSyncMain);
      StandInEvaluator guess = Guess();
      StoredStateLabeller labeller(*cube_, guess, config);
      DataBuffer examples(expected.schema(), kRows);
      const StopSignal stop;
      PipelinedLoop labelling = labeller.Start(/*update=*/0, states, examples, stop);
      int steps = 0;
      while (labelling.Step()) ++steps;
      for (const std::size_t column : {kInputColumn, kTargetColumn}) {
        EXPECT_TRUE(
            std::ranges::equal(examples.column(column).bytes(), expected.column(column).bytes()));
      }
      EXPECT_EQ(steps, 5);  // 300 rows in ranges of 64
      EXPECT_FALSE(labelling.Step());
    }
  }
}

TEST_F(StoredStates, OfHeadVpAlsoLabelTheActionWithTheLeastBackup) {
  const Target target = Target::kCappedValueIteration;
  const DataBuffer v = Generated(ConfigFor(Head::kV, target), Mode::kAsync);
  const DataBuffer q = Generated(ConfigFor(Head::kQ, Target::kValueIteration), Mode::kAsync);
  const DataBuffer vp = Generated(ConfigFor(Head::kVp, target), Mode::kAsync);
  const std::size_t actions = cube_->spec().num_actions();
  int goals = 0;
  for (std::size_t i = 0; i < kRows; ++i) {
    const auto label = vp.floats(kTargetColumn).subspan(i * (1 + actions), 1 + actions);
    EXPECT_EQ(label[0], v.floats(kTargetColumn)[i]);
    std::vector<float> policy(actions, 0.0F);
    if (label[0] == 0) {
      ++goals;
    } else {
      const auto backups = q.floats(kTargetColumn).subspan(i * actions, actions);
      policy[std::ranges::min_element(backups) - backups.begin()] = 1;
    }
    EXPECT_TRUE(std::ranges::equal(label.subspan(1), policy)) << i;
  }
  EXPECT_GT(goals, 0);
}

TEST_F(StoredStates, NanEstimateNamesTheChild) {
  // Without the check, min would hide the NaN behind the cap and the other children.
  const std::unique_ptr<const Domain> path = std::make_unique<PathDomain>(9);
  StandInEvaluator broken(
      [](std::span<const std::uint8_t> state) { return state[0] == 3 ? std::nanf("") : 1.0F; });
  const auto generator = MakeGenerator(
      *path, GeneratorConfig({.target = Target::kCappedValueIteration, .max_scramble = 6}),
      &broken);
  DataBuffer rows(generator->schema(), kRows);
  try {
    generator->Fill({.update = 0, .first_row = 0, .rows = kRows}, rows, StopSignal());
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("state 3 is not a number"), std::string::npos)
        << error.what();
  }
}

TEST_F(StoredStates, LabellingCanEndAfterAnyStepAndStartAgain) {
  const Config config = ConfigFor(Head::kV, Target::kValueIteration);
  const DataBuffer states = Generated(config, Mode::kSyncMain);
  StandInEvaluator guess = Guess();
  StoredStateLabeller labeller(*cube_, guess, config);
  DataBuffer examples(ExampleSchema(cube_->spec()), kRows);
  StopSignal stop;
  {
    PipelinedLoop stopped = labeller.Start(/*update=*/0, states, examples, stop);
    EXPECT_TRUE(stopped.Step());
    stop.Request();
    EXPECT_THROW(stopped.Step(), Stopped);
  }
  const StopSignal never;
  for (int steps = 0; steps < 5; ++steps) {
    PipelinedLoop dropped = labeller.Start(/*update=*/0, states, examples, never);
    for (int i = 0; i < steps; ++i) EXPECT_TRUE(dropped.Step());
  }
  labeller.Start(/*update=*/0, states, examples, never).Run();
  const DataBuffer expected = Generated(config, Mode::kAsync);
  EXPECT_TRUE(std::ranges::equal(examples.column(kTargetColumn).bytes(),
                                 expected.column(kTargetColumn).bytes()));
}

TEST_F(StoredStates, NetworkFailureEndsLabelling) {
  const Config config = ConfigFor(Head::kV, Target::kValueIteration);
  const DataBuffer states = Generated(config, Mode::kSyncMain);
  StandInEvaluator broken([](std::span<const std::uint8_t>) -> float { throw Error("no memory"); });
  StoredStateLabeller labeller(*cube_, broken, config);
  DataBuffer examples(ExampleSchema(cube_->spec()), kRows);
  const StopSignal never;
  EXPECT_THROW(labeller.Start(/*update=*/0, states, examples, never).Run(), Error);
}

}  // namespace
}  // namespace tandem
