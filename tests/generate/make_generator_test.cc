// Tests that every config key of a generator reaches it.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <string>

#include "generate/generator.h"
#include "support/head_evaluator.h"
#include "tandem/error.h"
#include "tandem/registry.h"

namespace tandem {
namespace {

constexpr std::int64_t kRows = 300;

// Gives every state a different estimate, and records the number of states in each call.
class Recorder final : public Evaluator {
 public:
  void Evaluate(ConstRows inputs, std::span<float> values) override {
    sizes.push_back(static_cast<std::int64_t>(inputs.size()));
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      float total = 40;
      for (std::size_t j = 0; j < inputs[i].size(); ++j) total += float(j % 7) * inputs[i][j] / 16;
      values[i] = total;
    }
  }

  std::vector<std::int64_t> sizes;
};

class MakeGeneratorTest : public testing::Test {
 protected:
  static Config MakeConfig(Target target, GenerateSearch search = GenerateSearch::kNone) {
    Config config;
    config.seed = 3;
    config.generate = {.target = target,
                       .search = search,
                       .search_iterations = 12,
                       .search_epsilon = 0.3,
                       .search_weight = 0.25,
                       .max_scramble = 7,
                       .workers = 2,
                       .chunk_rows = 16};
    return config;
  }

  DataBuffer Rows(const Config& config) {
    recorder_.sizes.clear();
    const auto generator = MakeGenerator(*cube_, config, &recorder_);
    EXPECT_EQ(generator->needs_network(), NeedsNetwork(config.generate.target));
    DataBuffer rows(generator->schema(), kRows);
    generator->Fill({.update = 0, .first_row = 0, .rows = kRows}, rows, StopSignal());
    return rows;
  }

  void ExpectOtherRows(Config config, const std::function<void(Config&)>& change) {
    const DataBuffer before = Rows(config);
    change(config);
    const DataBuffer after = Rows(config);
    EXPECT_FALSE(std::ranges::equal(before.bytes(), after.bytes()));
  }

  const std::unique_ptr<const Domain> cube_ = MakeDomain("cube2");
  Recorder recorder_;
};

TEST_F(MakeGeneratorTest, WalksUseSeedAndLength) {
  const Config config = MakeConfig(Target::kWalkLength);
  ExpectOtherRows(config, [](Config& c) { c.seed = 4; });
  const DataBuffer rows = Rows(config);
  EXPECT_EQ(std::ranges::max(rows.floats(kTargetColumn)), 7);
  EXPECT_TRUE(recorder_.sizes.empty());
}

TEST_F(MakeGeneratorTest, QNetWalksHaveWeightsAndOtherQTargetsHaveNone) {
  Config config = MakeConfig(Target::kWalkLength);
  config.network.head = Head::kQ;
  const DataBuffer rows = Rows(config);
  EXPECT_EQ(std::ranges::count(rows.floats(kWeightColumn), 1.0F), 2 * kRows);
  EXPECT_EQ(std::ranges::max(rows.floats(kTargetColumn)), 7 + 2);
  config.generate.target = Target::kValueIteration;
  EXPECT_FALSE(HasWeights(Rows(config).schema()));
}

TEST_F(MakeGeneratorTest, PolicyWalksUseSeedAndLength) {
  Config config = MakeConfig(Target::kPolicy);
  config.network.head = Head::kPolicy;
  ExpectOtherRows(config, [](Config& c) { c.seed = 4; });
  ExpectOtherRows(config, [](Config& c) { c.generate.max_scramble = 8; });
  EXPECT_EQ(std::ranges::count(Rows(config).floats(kTargetColumn), 1.0F), kRows);
}

TEST_F(MakeGeneratorTest, ScramblesUseSeedAndLength) {
  const Config config = MakeConfig(Target::kValueIteration);
  ExpectOtherRows(config, [](Config& c) { c.seed = 4; });
  ExpectOtherRows(config, [](Config& c) { c.generate.max_scramble = 8; });
}

TEST_F(MakeGeneratorTest, SearchesUseTheirConfigKeys) {
  const Config greedy = MakeConfig(Target::kValueIteration, GenerateSearch::kGreedy);
  ExpectOtherRows(greedy, [](Config& c) { c.generate.search = GenerateSearch::kAStar; });
  ExpectOtherRows(greedy, [](Config& c) { c.generate.search_epsilon = 0.9; });
  ExpectOtherRows(greedy, [](Config& c) { c.generate.search_iterations = 6; });
  ExpectOtherRows(greedy, [](Config& c) { c.generate.temperature = 1; });
  ExpectOtherRows(greedy, [](Config& c) { c.generate.backup = Backup::kLhbl; });
  const Config beam = MakeConfig(Target::kValueIteration, GenerateSearch::kBeam);
  ExpectOtherRows(beam, [](Config& c) { c.generate.search_beam_width = 3; });
  ExpectOtherRows(beam, [](Config& c) { c.generate.temperature = 1; });
  const Config astar = MakeConfig(Target::kValueIteration, GenerateSearch::kAStar);
  ExpectOtherRows(astar, [](Config& c) { c.generate.search_weight = 4; });
}

TEST_F(MakeGeneratorTest, OnlyCappedTargetsAreCapped) {
  const auto most = [&](Target target, Head head) {
    Config config = MakeConfig(target);
    config.network.head = head;
    return std::ranges::max(Rows(config).floats(kTargetColumn));
  };
  EXPECT_GT(most(Target::kValueIteration, Head::kV), 40);
  EXPECT_LE(most(Target::kCappedValueIteration, Head::kV), 7);
  EXPECT_GT(most(Target::kValueIteration, Head::kQ), 40);
  EXPECT_LE(most(Target::kCappedValueIteration, Head::kQ), 9);
  Config config = MakeConfig(Target::kValueIteration);
  config.network.head = Head::kQ;
  EXPECT_GE(std::ranges::min(Rows(config).floats(kTargetColumn)), 1);  // each action has a label
}

TEST_F(MakeGeneratorTest, RowsOfSyncMainAreStates) {
  Config config = MakeConfig(Target::kValueIteration, GenerateSearch::kGreedy);
  const DataBuffer examples = Rows(config);
  EXPECT_EQ(examples.schema(), ExampleSchema(cube_->spec()));
  config.pipeline.mode = Mode::kSyncMain;
  const DataBuffer states = Rows(config);
  EXPECT_EQ(states.schema(), StateSchema(cube_->spec()));
  EXPECT_TRUE(std::ranges::equal(states.column(kStateColumn).bytes(),
                                 examples.column(kInputColumn).bytes()));  // the input is the state
  EXPECT_GT(std::ranges::max(examples.floats(kTargetColumn)), 40);
  EXPECT_TRUE(std::isinf(std::ranges::min(states.floats(kBoundColumn))));
  config.generate.target = Target::kCappedValueIteration;
  EXPECT_LT(std::ranges::max(Rows(config).floats(kBoundColumn)), 7 + 12);
}

TEST_F(MakeGeneratorTest, TargetsThatBackUpEstimatesRefuseAPolicy) {
  class Policy final : public HeadEvaluator {
   public:
    Policy() : HeadEvaluator(Head::kPolicy) {}
    void Evaluate(ConstRows, std::span<float>) override { FAIL(); }
  } policy;
  for (const Target target : {Target::kValueIteration, Target::kQLearning}) {
    try {
      MakeGenerator(*cube_, MakeConfig(target), &policy);
      ADD_FAILURE() << "expected an Error";
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find("needs an evaluator that estimates states"),
                std::string::npos);
    }
  }
}

TEST_F(MakeGeneratorTest, EvaluatesOneChunkPerCall) {
  const auto children = static_cast<std::int64_t>(cube_->spec().num_actions());
  Rows(MakeConfig(Target::kValueIteration));  // 300 rows: 18 chunks of 16 and one of 12
  std::vector<std::int64_t> expected(18, 16 * children);
  expected.push_back(12 * children);
  EXPECT_EQ(recorder_.sizes, expected);
}

}  // namespace
}  // namespace tandem
