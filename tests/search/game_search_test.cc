// Tests the searches in games.
#include "search/game_search.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <oneapi/tbb/task_arena.h>

#include <array>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "base/random.h"
#include "domain/random_walks.h"
#include "search/game_tree.h"
#include "search/problems.h"
#include "support/connect_four_solver.h"
#include "support/game_evaluators.h"
#include "tandem/error.h"
#include "tandem/game.h"

namespace tandem {
namespace {

using Bytes = std::vector<std::uint8_t>;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

Config ConfigOf(SearchMethod method, std::int64_t simulations, std::int64_t max_length = 100) {
  Config config;
  config.search = {.method = method, .max_length = max_length, .simulations = simulations};
  return config;
}

TEST(ConsideredVisits, HalvesTheActionsAfterEachPhase) {
  EXPECT_THAT(ConsideredVisits(4, 8), ElementsAre(0, 0, 0, 0, 1, 1, 2, 2));
  EXPECT_THAT(ConsideredVisits(2, 5), ElementsAre(0, 0, 1, 1, 2));
  EXPECT_THAT(ConsideredVisits(1, 3), ElementsAre(0, 1, 2));
  EXPECT_THAT(ConsideredVisits(7, 4), Each(0));
}

class GameSearches : public testing::TestWithParam<SearchMethod> {
 protected:
  SearchResult Solve(const GameDomain& game, const std::string& text, std::int64_t simulations,
                     std::int64_t max_length = 100) {
    const auto search = MakeGameSearch(game, flat_, ConfigOf(GetParam(), simulations, max_length));
    return SolveAndReplay(game, *search, PositionOf(game, text), never_);
  }

  FlatEvaluator flat_;
  const StopSignal never_;
};

// Its author forgot that the game ends when nothing is left to take.
struct NoEnd {
  static constexpr int kActions = 1;
  static constexpr int kDepth = 4;
  using State = std::array<std::uint8_t, 2>;
  static State Start() { return {3, 0}; }
  static int Player(const State& state) { return state[1]; }
  static std::optional<int> Result(const State& /*state*/) { return std::nullopt; }
  static bool Apply(State& state, int /*action*/) {
    if (state[0] == 0) return false;
    state = {static_cast<std::uint8_t>(state[0] - 1), static_cast<std::uint8_t>(1 - state[1])};
    return true;
  }
};

TEST_P(GameSearches, RefuseAnOpenPositionWithoutActions) {
  const GameOf<NoEnd> game("no_end");
  EXPECT_THAT([&] { Solve(game, "2 0", 20); },
              ThrowsMessage<Error>(HasSubstr("the game goes on in state 0 0, yet no action")));
}

TEST_P(GameSearches, TakeAWinAndPreventALoss) {
  const auto game = MakeGame("tic_tac_toe");
  const auto first = [&](const char* text) {
    return game->spec().action_names[Solve(*game, text, 200).actions.front()];
  };
  EXPECT_EQ(first("XX./OO./..."), "c1");
  EXPECT_EQ(first("XX./.O./..."), "c1");
  const auto four = MakeGame("connect_four");
  const SearchResult block =
      Solve(*four, "......./......./......./......./......./OOXXX..", 400, /*max_length=*/1);
  EXPECT_EQ(four->spec().action_names[block.actions.front()], "6");
}

TEST_P(GameSearches, BestPlayOfTicTacToeIsADraw) {
  const auto game = MakeGame("tic_tac_toe");
  const SearchResult result = Solve(*game, "", 2000);
  EXPECT_TRUE(result.solved);
  EXPECT_EQ(result.actions.size(), 9U);
  Bytes state = PositionOf(*game, "");
  ApplyAll(*game, result.actions, state);
  Outcome outcome = Outcome::kOpen;
  game->Outcomes(ConstRows(std::span(state)), {&outcome, 1});
  EXPECT_EQ(outcome, Outcome::kDraw);
}

TEST_P(GameSearches, FirstMoveAloneComesWithItsValue) {
  const auto game = MakeGame("tic_tac_toe");
  const SearchResult loses = Solve(*game, "X.X/O../XO.", 400, /*max_length=*/1);
  EXPECT_TRUE(loses.solved);
  EXPECT_EQ(loses.stop_reason, StopReason::kLengthLimit);
  EXPECT_EQ(loses.actions.size(), 1U);
  ASSERT_TRUE(loses.best);
  EXPECT_GT(loses.best->estimate, 1.7);
  EXPECT_EQ(loses.best->actions, loses.actions);
}

TEST_P(GameSearches, LimitLeavesTheBestMove) {
  const auto game = MakeGame("tic_tac_toe");
  Config config = ConfigOf(GetParam(), 100);
  config.search.max_nodes = 250;
  const auto search = MakeGameSearch(*game, flat_, config);
  const SearchResult result = SolveAndReplay(*game, *search, PositionOf(*game, ""), never_);
  EXPECT_FALSE(result.solved);
  EXPECT_TRUE(result.actions.empty());
  EXPECT_EQ(result.cost, 0);
  ASSERT_TRUE(result.best);
  EXPECT_EQ(result.best->actions.size(), 1U);
  EXPECT_THAT(search->Failure(result), HasSubstr("raise search.max_nodes"));
}

TEST_P(GameSearches, MemoryCountsThePositionsAndTheirMoves) {
  const auto game = MakeGame("tic_tac_toe");
  const SearchResult result = Solve(*game, "", 100, /*max_length=*/1);
  EXPECT_GT(result.stored, 5);
  EXPECT_GT(result.bytes, result.stored * (game->spec().state_size + 5 * 8));
}

// The probability of a legal move may be too small for a float.
TEST_P(GameSearches, TryMovesOfProbabilityZero) {
  class Infinite final : public FlatEvaluator {
   public:
    void EvaluateActions(ConstRows /*inputs*/, std::span<float> values) override {
      std::ranges::fill(values, std::numeric_limits<float>::infinity());
    }
  } network;
  const auto game = MakeGame("tic_tac_toe");
  const auto search = MakeGameSearch(*game, network, ConfigOf(GetParam(), 200, 1));
  const SearchResult result =
      SolveAndReplay(*game, *search, PositionOf(*game, "O../XX./.O."), never_);
  EXPECT_EQ(game->spec().action_names[result.actions.front()], "c2");
}

TEST_P(GameSearches, FinishedGameNeedsNoMove) {
  const auto game = MakeGame("tic_tac_toe");
  const SearchResult result = Solve(*game, "XXX/OO./...", 10);
  EXPECT_TRUE(result.solved);
  EXPECT_TRUE(result.actions.empty());
  EXPECT_EQ(flat_.rows(), 0U);
}

// A position's result depends neither on those beside it nor on the threads.
TEST_P(GameSearches, DoNotDependOnOtherPositionsOrThreads) {
  const auto game = MakeGame("othello:6");
  OpinionatedEvaluator network;
  constexpr std::size_t kStates = 40;
  Bytes bytes;
  for (std::size_t i = 0; i < kStates; ++i) {
    Bytes state = PositionOf(*game, "");
    WalkFromGoal(*game, Random(3, Purpose::kScramble, 0, i), static_cast<std::int64_t>(i % 20),
                 state);
    bytes.insert(bytes.end(), state.begin(), state.end());
  }
  const ConstRows states(bytes.data(), kStates, bytes.size() / kStates);
  const auto search = MakeGameSearch(*game, network, ConfigOf(GetParam(), 16, 5));
  std::vector<std::vector<Action>> together(kStates);
  tbb::task_arena arena(4);
  arena.execute([&] {
    search->SolveAll(states, never_, [&](std::size_t i, const SearchResult& result) {
      together[i] = result.actions;
    });
  });
  for (std::size_t i = 0; i < kStates; ++i) {
    const SearchResult alone = search->Solve(states[i], never_);
    EXPECT_EQ(together[i], alone.actions) << i;
  }
}

// Without a network, more simulations keep the value of more positions.
TEST_P(GameSearches, KeepMoreValuesOfConnectFourWithMoreSimulations) {
  const auto game = MakeGame("connect_four");
  ConnectFourSolver solver;
  const auto kept = [&](std::int64_t simulations) {
    const auto search = MakeGameSearch(*game, flat_, ConfigOf(GetParam(), simulations, 1));
    int number = 0;
    for (std::size_t i = 0; i < 60; ++i) {
      Bytes state = PositionOf(*game, "");
      WalkFromGoal(*game, Random(2, Purpose::kScramble, 0, i), 22, state);
      if (IsGoal(*game, state)) continue;
      const std::array<int, 7> values = solver.ValuesOfMoves(state);
      const SearchResult result = search->Solve(state, never_);
      number += values[result.actions.front()] == *std::ranges::max_element(values) ? 1 : 0;
    }
    return number;
  };
  EXPECT_LT(kept(8), kept(1000));
}

TEST_P(GameSearches, RefusePuzzlesAndNetworksWithoutAPolicy) {
  const auto puzzle = MakeDomain("npuzzle:3");
  EXPECT_THAT([&] { MakeSearch(*puzzle, flat_, ConfigOf(GetParam(), 10)); },
              ThrowsMessage<InputError>(HasSubstr("is for games of two players, and npuzzle:3")));
  const auto game = MakeGame("tic_tac_toe");
  EXPECT_THAT([&] { MakeSearch(*game, flat_, ConfigOf(SearchMethod::kBeam, 10)); },
              ThrowsMessage<InputError>(HasSubstr("Set search.method to gumbel or puct")));
  class OfStates final : public HeadEvaluator {
   public:
    OfStates() : HeadEvaluator(Head::kV) {}
    void Evaluate(ConstRows /*inputs*/, std::span<float> /*values*/) override {}
  } no_policy;
  EXPECT_THAT([&] { MakeSearch(*game, no_policy, ConfigOf(GetParam(), 10)); },
              ThrowsMessage<Error>(HasSubstr("has a policy")));
}

INSTANTIATE_TEST_SUITE_P(Each, GameSearches,
                         testing::Values(SearchMethod::kGumbel, SearchMethod::kPuct),
                         [](const auto& test) {
                           return std::string(NameOf(kSearchMethods, test.param));
                         });

// Takes the simulations of one move.
void Simulate(GameTrees& trees, std::int64_t simulations, std::optional<Random> random) {
  trees[0].BeginMove(random);
  for (std::int64_t i = 0; i < simulations; ++i) {
    trees.Descend(0, 1);
    trees.Evaluate();
    trees.BackUp(0, 1);
  }
}

TEST(GameTree, KeepsThePartBelowAMove) {
  const auto game = MakeGame("tic_tac_toe");
  FlatEvaluator flat;
  GameTrees trees(*game, flat, {.search = GameSearch::kPuct, .simulations = 100});
  trees.Resize(1);
  trees[0].Reset(PositionOf(*game, ""));
  Simulate(trees, 100, std::nullopt);
  EXPECT_EQ(trees[0].size(), 100U);
  trees[0].MoveTo(trees[0].Choose());
  const std::size_t kept = trees[0].size();
  EXPECT_GT(kept, 5U);
  EXPECT_LT(kept, 100U);
  Simulate(trees, 1, std::nullopt);
  EXPECT_EQ(trees[0].size(), kept + 1);  // the root needs no evaluation
}

TEST(GameTree, PoliciesAreProbabilitiesOfLegalMovesAndPreferWins) {
  const auto game = MakeGame("tic_tac_toe");
  FlatEvaluator flat;
  for (const GameSearch kind : {GameSearch::kPuct, GameSearch::kGumbel}) {
    GameTrees trees(*game, flat, {.search = kind, .simulations = 64});
    trees.Resize(1);
    trees[0].Reset(PositionOf(*game, "XX./OO./..."));
    Simulate(trees, 64, Random(1, Purpose::kRollout));
    std::vector<float> policy(9);
    trees[0].WritePolicy(policy);
    float sum = 0;
    for (std::size_t a = 0; a < policy.size(); ++a) {
      sum += policy[a];
      if (std::array{true, true, false, true, true, false, false, false, false}[a]) {
        EXPECT_EQ(policy[a], 0) << a;
      }
    }
    EXPECT_NEAR(sum, 1, 1e-5);
    EXPECT_GT(policy[2], 0.7);
    EXPECT_GT(trees[0].RootValue(), 0.5);
  }
}

}  // namespace
}  // namespace tandem
