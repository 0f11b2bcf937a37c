#include "generate/generation_memory.h"

#include <gtest/gtest.h>

#include <memory>

#include "search/goal_ball.h"
#include "support/generator_config.h"
#include "tandem/registry.h"

namespace tandem {
namespace {

constexpr std::int64_t kRows = 2 * 128;

std::int64_t BytesFor(const GenerateConfig& generate, std::int64_t rows = kRows) {
  return GenerationBytes(GeneratorConfig(generate), MakeDomain("cube3")->spec(), rows);
}

TEST(GenerationBytes, WalksNeedNoMemoryOfTheirOwn) {
  for (const Target target : {Target::kWalkLength, Target::kPolicy}) {
    EXPECT_EQ(BytesFor({.target = target}), 0);
  }
}

TEST(GenerationBytes, NothingIsNeededIfNoRowsAreGenerated) {
  for (const auto& choice : kTargets) {
    EXPECT_EQ(BytesFor({.target = choice.value, .ball_radius = 3}, /*rows=*/0), 0) << choice.name;
  }
}

TEST(GenerationBytes, CountsTheBallAroundTheGoal) {
  const GoalBall ball(*MakeDomain("cube3"), 3, std::size_t{1} << 30);
  const std::int64_t bytes = BytesFor({.target = Target::kWalkLength, .ball_radius = 3});
  EXPECT_GE(bytes, static_cast<std::int64_t>(ball.bytes()));
  EXPECT_LE(bytes, 3 * static_cast<std::int64_t>(ball.bytes()));
  Config large = GeneratorConfig({.target = Target::kWalkLength, .ball_radius = 20});
  large.memory.ball_limit_gib = 0.5;
  EXPECT_EQ(GenerationBytes(large, MakeDomain("cube3")->spec(), kRows), std::int64_t{1} << 29);
}

TEST(GenerationBytes, CountsATableOfEachWorkerThatSearchesBackwards) {
  const auto bytes = [](int workers) {
    return BytesFor({.target = Target::kRetrograde, .problem_states = 1000, .workers = workers});
  };
  EXPECT_GE(bytes(1), 1000 * 54);
  EXPECT_EQ(bytes(3), 3 * bytes(1));
}

TEST(GenerationBytes, CountsTheChildrenOfStatesThatTheyLabel) {
  const std::int64_t children = kRows * 12;
  const std::int64_t every = BytesFor({.target = Target::kValueIteration});
  EXPECT_GE(every, children * (54 + 54));  // and what the network reads of them
  EXPECT_EQ(BytesFor({.target = Target::kCappedValueIteration}), every);
  EXPECT_LT(BytesFor({.target = Target::kQLearning}), every / 8);  // one child of each state
  // In sync_main, states are labelled after the searches, in batches of their own.
  Config later = GeneratorConfig({.target = Target::kValueIteration});
  later.pipeline.mode = Mode::kSyncMain;
  EXPECT_EQ(GenerationBytes(later, MakeDomain("cube3")->spec(), kRows), 2 * every);
}

TEST(GenerationBytes, CountsWhatSearchesRemember) {
  const auto bytes = [](GenerateSearch search, std::int64_t iterations, Backup backup) {
    return BytesFor({.target = Target::kValueIteration,
                     .search = search,
                     .search_iterations = iterations,
                     .search_beam_width = 32,
                     .backup = backup});
  };
  // 16 searches at a time, each of which remembers its 16 states.
  const std::int64_t greedy = bytes(GenerateSearch::kGreedy, 16, Backup::kOneStep);
  EXPECT_GE(greedy, 16 * 12 * (54 + 54) + 16 * 16 * 54);
  EXPECT_LT(greedy, BytesFor({.target = Target::kValueIteration}));
  EXPECT_GE(bytes(GenerateSearch::kAStar, 16, Backup::kOneStep), kRows * 12 * 54);
  const std::int64_t beam = bytes(GenerateSearch::kBeam, 4, Backup::kOneStep);
  EXPECT_GE(beam, 2 * 32 * 12 * (54 + 54));
  // Of each of the two searches, the tree holds 4 x 32 states.
  EXPECT_GE(bytes(GenerateSearch::kBeam, 4, Backup::kLhbl) - beam,
            2 * 4 * 32 * (54 + 12 * (4 + 4 + 8 + 4)));
}

TEST(GenerationBytes, CountsTheWalksAndTheSearchesOfOwnSolutions) {
  const auto bytes = [](GenerateSearch search) {
    return BytesFor({.target = Target::kOwnSolutions,
                     .search = search,
                     .search_beam_width = 1000,
                     .max_scramble = 16});
  };
  EXPECT_GE(bytes(GenerateSearch::kGreedy), kRows * 54 + kRows / 16 * 12 * 54);
  EXPECT_GE(bytes(GenerateSearch::kBeam), kRows * 54 + 1000 * 12);
}

}  // namespace
}  // namespace tandem
