// Tests the games, and the checks of games.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <vector>

#include "base/random.h"
#include "domain/random_walks.h"
#include "support/connect_four_solver.h"
#include "support/game_evaluators.h"
#include "tandem/check_domain.h"
#include "tandem/error.h"
#include "tandem/game.h"
#include "tandem/registry.h"

namespace tandem {
namespace {

using Bytes = std::vector<std::uint8_t>;
using testing::Contains;
using testing::Field;
using testing::HasSubstr;
using testing::ThrowsMessage;

Outcome OutcomeOf(const GameDomain& game, const Bytes& state) {
  Outcome outcome = Outcome::kOpen;
  game.Outcomes(ConstRows(std::span(state)), {&outcome, 1});
  return outcome;
}

// The number of games of `depth` moves, and of shorter ones that end.
std::int64_t CountGames(const GameDomain& game, const Bytes& state, int depth) {
  if (depth == 0) return 1;
  Bytes legal(static_cast<std::size_t>(game.spec().num_actions()));
  game.Mask(ConstRows(std::span(state)), legal);
  std::int64_t games = 0;
  for (std::size_t a = 0; a < legal.size(); ++a) {
    if (legal[a] == 0) continue;
    const auto action = static_cast<Action>(a);
    Bytes child = state;
    game.Apply(Rows(std::span(child)), {&action, 1});
    games += CountGames(game, child, depth - 1);
  }
  return games > 0 ? games : 1;
}

TEST(Games, HaveTheKnownNumbersOfGames) {
  const auto count = [](const char* name, int depth) {
    const auto game = MakeGame(name);
    return CountGames(*game, PositionOf(*game, ""), depth);
  };
  EXPECT_EQ(count("tic_tac_toe", 9), 255'168);
  EXPECT_EQ(count("connect_four", 6), 117'649);
  EXPECT_EQ(count("othello:8", 6), 8'200);
  EXPECT_EQ(count("othello:6", 4), 244);
}

TEST(Games, SayWhoHasWon) {
  const auto line = MakeGame("tic_tac_toe");
  EXPECT_EQ(OutcomeOf(*line, PositionOf(*line, "XXX/OO./...")), Outcome::kLoss);
  EXPECT_EQ(OutcomeOf(*line, PositionOf(*line, "XOX/XOO/OXX")), Outcome::kDraw);
  EXPECT_EQ(OutcomeOf(*line, PositionOf(*line, "XX./OO./...")), Outcome::kOpen);
  const auto four = MakeGame("connect_four");
  EXPECT_EQ(OutcomeOf(*four, PositionOf(*four, "......./......./...X.../..XO.../.XOO.../XOOX..X")),
            Outcome::kLoss);
  const auto othello = MakeGame("othello:6");
  EXPECT_EQ(
      OutcomeOf(*othello, PositionOf(*othello, "XXXXXX/XXXXXX/XXXXXX/XXXXXX/XXXXXX/XXXXX. X")),
      Outcome::kWin);
}

TEST(Games, OthelloPassesOnlyWithoutAnotherMove) {
  const auto game = MakeGame("othello:6");
  const Bytes state = PositionOf(*game, "XO..../....../....../....../....../...... O");
  Bytes legal(static_cast<std::size_t>(game->spec().num_actions()));
  game->Mask(ConstRows(std::span(state)), legal);
  EXPECT_EQ(std::ranges::count(legal, std::uint8_t{1}), 1);
  EXPECT_EQ(legal.back(), 1);
}

TEST(Games, RejectTextThatIsNoPosition) {
  const auto expect = [](const char* name, const char* text, const char* why) {
    const auto game = MakeGame(name);
    EXPECT_THAT([&] { PositionOf(*game, text); }, ThrowsMessage<InputError>(HasSubstr(why)))
        << text;
  };
  expect("tic_tac_toe", "X../...", "has 7 characters, expected 11");
  expect("tic_tac_toe", "X..|.../...", "character 4 of the board is '|', expected '/'");
  expect("tic_tac_toe", "X.Z/.../...", "character 3 of the board is 'Z', expected '.', 'X' or 'O'");
  expect("tic_tac_toe", "XX./.../...", "there are 2 X and 0 O");
  expect("tic_tac_toe", "XX./OOO/X.X", "has won already");
  expect("connect_four", "...X.../......./......./......./......./.......", "empty cell below it");
  expect("othello:6", "XO..../....../....../....../....../......", "after a space, X or O");
}

Bytes InputOf(const GameDomain& game, const Bytes& state) {
  Bytes input(static_cast<std::size_t>(game.spec().input.positions));
  game.Encode(ConstRows(std::span(state)), Rows(std::span(input)));
  return input;
}

Bytes ImageOf(const Symmetry& symmetry, const Bytes& input) {
  Bytes image(input.size());
  for (std::size_t p = 0; p < input.size(); ++p) image[symmetry.positions[p]] = input[p];
  return image;
}

// The position `moves` random moves after the start, and its images.
void CheckImages(const GameDomain& game, std::int64_t moves) {
  Bytes state = PositionOf(game, "");
  const Random random(4, Purpose::kScramble, 0, moves);
  WalkFromGoal(game, random, moves, state);
  std::uint8_t player = 0;
  game.Players(ConstRows(std::span(state)), {&player, 1});
  Bytes legal(static_cast<std::size_t>(game.spec().num_actions()));
  Bytes legal_of_image = legal;
  game.Mask(ConstRows(std::span(state)), legal);
  for (const Symmetry& symmetry : game.symmetries()) {
    const Bytes image =
        PositionWithInput(game, ImageOf(symmetry, InputOf(game, state)), player == 0 ? 'X' : 'O');
    EXPECT_EQ(OutcomeOf(game, image), OutcomeOf(game, state));
    game.Mask(ConstRows(std::span(image)), legal_of_image);
    for (std::size_t a = 0; a < legal.size(); ++a) {
      ASSERT_EQ(legal_of_image[symmetry.actions[a]], legal[a]);
      if (legal[a] == 0) continue;
      const auto action = static_cast<Action>(a);
      Bytes child = state;
      Bytes child_of_image = image;
      game.Apply(Rows(std::span(child)), {&action, 1});
      game.Apply(Rows(std::span(child_of_image)), {&symmetry.actions[a], 1});
      ASSERT_EQ(InputOf(game, child_of_image), ImageOf(symmetry, InputOf(game, child)));
    }
  }
}

TEST(Games, SymmetriesLeadMovesOfPositionsToMovesOfTheirImages) {
  for (const char* name : {"tic_tac_toe", "connect_four", "othello:6", "othello:8"}) {
    const auto game = MakeGame(name);
    for (std::int64_t moves = 0; moves < 40; ++moves) CheckImages(*game, moves);
  }
}

// The value of a position by trying all moves.
int ValueByForce(const GameDomain& game, const Bytes& state) {
  const Outcome outcome = OutcomeOf(game, state);
  if (outcome != Outcome::kOpen) return ResultOf(outcome);
  Bytes legal(static_cast<std::size_t>(game.spec().num_actions()));
  game.Mask(ConstRows(std::span(state)), legal);
  int best = -1;
  for (std::size_t a = 0; a < legal.size() && best < 1; ++a) {
    if (legal[a] == 0) continue;
    const auto action = static_cast<Action>(a);
    Bytes child = state;
    game.Apply(Rows(std::span(child)), {&action, 1});
    best = std::max(best, -ValueByForce(game, child));
  }
  return best;
}

TEST(Games, ExactSolverAgreesWithTryingAllMoves) {
  const auto game = MakeGame("connect_four");
  ConnectFourSolver solver;
  std::array<int, 3> seen{};
  constexpr std::size_t kPositions = 300;
  for (std::size_t i = 0; i < kPositions; ++i) {
    Bytes state(static_cast<std::size_t>(game->spec().state_size));
    constexpr std::int64_t kStones = 30;
    WalkFromGoal(*game, Random(1, Purpose::kScramble, 0, i), kStones, state);
    const int value = ValueByForce(*game, state);
    EXPECT_EQ(solver.Value(state), value) << game->FormatState(state);
    ++seen[static_cast<std::size_t>(value + 1)];
    if (OutcomeOf(*game, state) != Outcome::kOpen) continue;
    const std::array<int, 7> moves = solver.ValuesOfMoves(state);
    EXPECT_EQ(*std::ranges::max_element(moves), value);
  }
  EXPECT_GT(*std::ranges::min_element(seen), 0);
}

// Counts matches as the first example in game.h, but the loser is the one who takes the last match.
struct Misere {
  static constexpr int kActions = 2;
  static constexpr int kDepth = 8;
  using State = std::array<std::uint8_t, 2>;
  static State Start() { return {7, 0}; }
  static int Player(const State& state) { return state[1]; }
  static std::optional<int> Result(const State& state) {
    return state[0] == 0 ? std::optional(1) : std::nullopt;
  }
  static bool Apply(State& state, int action) {
    if (state[0] < action + 1) return false;
    state = {static_cast<std::uint8_t>(state[0] - action - 1),
             static_cast<std::uint8_t>(1 - state[1])};
    return true;
  }
};

std::string Broken(const Domain& domain, const std::string& promise) {
  for (const DomainCheck& check : CheckDomain(domain)) {
    if (check.promise == promise) return check.broken;
  }
  return "not checked";
}

TEST(CheckGame, StructKeepsAllPromises) {
  for (const DomainCheck& check : CheckDomain(GameOf<Misere>("misere"))) {
    EXPECT_EQ(check.broken, "") << check.promise;
  }
}

struct SameTurn : Misere {
  static int Player(const State& /*state*/) { return 0; }
};

TEST(CheckGame, FindsAPlayerWhoMovesTwice) {
  EXPECT_THAT(Broken(GameOf<SameTurn>("wrong"), "the players take turns"),
              HasSubstr("the same player moves again"));
}

struct NoEnd : Misere {
  static std::optional<int> Result(const State& /*state*/) { return std::nullopt; }
};

TEST(CheckGame, FindsAnOpenPositionWithoutMoves) {
  EXPECT_THAT(Broken(GameOf<NoEnd>("wrong"), "actions apply exactly while the game goes on"),
              HasSubstr("the game goes on, yet no action applies"));
}

struct ByPoints : Misere {
  static std::optional<int> Result(const State& state) {
    return state[0] == 0 ? std::optional(-2) : std::nullopt;
  }
};

TEST(CheckGame, FindsAResultThatIsNone) {
  EXPECT_THAT(Broken(GameOf<ByPoints>("wrong"), "the players take turns"), "");
  EXPECT_THAT(Broken(GameOf<ByPoints>("wrong"), "actions apply exactly while the game goes on"),
              HasSubstr("Result returned -2, expected 1, 0 or -1"));
}

TEST(CheckGame, CountsSymmetriesThatItDoesNotCheck) {
  const auto promises = [](const char* name) { return CheckDomain(*MakeDomain(name)); };
  EXPECT_THAT(promises("othello:6"),
              Contains(Field(&DomainCheck::promise,
                             "symmetries that keep the start map games to games (3 of 7)")));
  EXPECT_THAT(promises("connect_four"),
              Contains(Field(&DomainCheck::promise,
                             "symmetries that keep the start map games to games (1 of 1)")));
}

struct Turned : Misere {
  static constexpr int kSymmetries = 2;
  static int Image(int /*symmetry*/, int position) { return position; }
  static int ImageOfAction(int symmetry, int action) { return symmetry == 1 ? 1 - action : action; }
};

TEST(CheckGame, FindsASymmetryThatIsNone) {
  EXPECT_THAT(
      Broken(GameOf<Turned>("wrong"), "symmetries that keep the start map games to games (1 of 1)"),
      HasSubstr("the images of the moves to"));
}

struct NoPermutation : Turned {
  static int ImageOfAction(int /*symmetry*/, int /*action*/) { return 0; }
};

TEST(CheckGame, RefusesASymmetryThatIsNoPermutation) {
  EXPECT_THAT([] { const GameOf<NoPermutation> game("wrong"); },
              ThrowsMessage<Error>(HasSubstr("symmetry 1 is not a permutation")));
}

}  // namespace
}  // namespace tandem
