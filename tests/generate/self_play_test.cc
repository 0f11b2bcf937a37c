// Tests examples from games that a network plays against itself.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "generate/generator.h"
#include "support/game_evaluators.h"
#include "support/generator_config.h"
#include "tandem/error.h"

namespace tandem {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

constexpr std::int64_t kSeries = 12;  // rows

Config ConfigFor(GameSearch search, std::int64_t workers = 1, std::int64_t chunk_rows = 96) {
  return GeneratorConfig({.target = Target::kSelfPlay,
                          .game_search = search,
                          .simulations = 8,
                          .max_scramble = kSeries,
                          .workers = workers,
                          .chunk_rows = chunk_rows},
                         Head::kVp);
}

// The rows of a request, each with its input and its label.
std::vector<std::string> RowsOf(const GameDomain& game, const Config& config, FillRequest request) {
  OpinionatedEvaluator network;
  const auto generator = MakeGenerator(game, config, &network);
  DataBuffer buffer = generator->MakeBuffer(static_cast<std::size_t>(request.rows));
  generator->Fill(request, buffer, StopSignal());
  std::vector<std::string> rows;
  for (std::size_t i = 0; i < buffer.rows(); ++i) {
    std::string& row = rows.emplace_back();
    for (const std::uint8_t byte : buffer.column(kInputColumn)[i]) row += std::to_string(byte);
    for (const float value : buffer.floats(kTargetColumn, i)) row += " " + std::to_string(value);
  }
  return rows;
}

class SelfPlay : public testing::TestWithParam<GameSearch> {};

TEST_P(SelfPlay, RowsDependOnTheirNumbersAlone) {
  const auto game = MakeGame("connect_four");
  const FillRequest whole{.update = 3, .first_row = 0, .rows = 20 * kSeries};
  const std::vector<std::string> rows = RowsOf(*game, ConfigFor(GetParam()), whole);
  EXPECT_EQ(rows, RowsOf(*game, ConfigFor(GetParam(), /*workers=*/4), whole));
  EXPECT_EQ(rows, RowsOf(*game, ConfigFor(GetParam(), 2, /*chunk_rows=*/1000), whole));
  const std::vector<std::string> part =
      RowsOf(*game, ConfigFor(GetParam()), {.update = 3, .first_row = 17, .rows = 50});
  EXPECT_EQ(part, std::vector(rows.begin() + 17, rows.begin() + 67));
  EXPECT_NE(rows, RowsOf(*game, ConfigFor(GetParam()), {.update = 4, .rows = 20 * kSeries}));
  Config other = ConfigFor(GetParam());
  other.seed = 2;
  EXPECT_NE(rows, RowsOf(*game, other, whole));
}

TEST_P(SelfPlay, LabelsAreCostsAndProbabilitiesOfLegalMoves) {
  for (const std::string name : {"tic_tac_toe", "othello:6"}) {
    const auto game = MakeGame(name);
    FlatEvaluator network;
    const auto generator = MakeGenerator(*game, ConfigFor(GetParam(), 2), &network);
    DataBuffer buffer = generator->MakeBuffer(40 * kSeries);
    generator->Fill({.rows = 40 * kSeries}, buffer, StopSignal());
    CheckExamples(buffer, game->spec().input.depth, "test");
    std::set<float> costs;
    for (std::size_t i = 0; i < buffer.rows(); ++i) {
      const std::span<const float> label = buffer.floats(kTargetColumn, i);
      EXPECT_LE(label[0], 2);
      float sum = 0;
      for (std::size_t a = 1; a < label.size(); ++a) sum += label[a];
      EXPECT_NEAR(sum, 1, 1e-4);
      costs.insert(label[0]);
      const std::span<const std::uint8_t> input = buffer.column(kInputColumn)[i];
      const auto stones = std::ranges::count_if(input, [](std::uint8_t cell) { return cell > 0; });
      const auto state = PositionWithInput(*game, input, stones % 2 == 0 ? 'X' : 'O');
      std::vector<std::uint8_t> legal(label.size() - 1);
      game->Mask(ConstRows(std::span(state)), legal);
      for (std::size_t a = 0; a < legal.size(); ++a) {
        if (legal[a] == 0) {
          EXPECT_EQ(label[1 + a], 0);
        }
      }
    }
    if (name == "tic_tac_toe") {
      EXPECT_GE(costs.size(), 5U);
    } else {  // in so few moves, no game of Othello ends
      EXPECT_EQ(costs, std::set<float>{1});
    }
  }
}

// Of a game with one stone to add, the label is known.
TEST_P(SelfPlay, LastMoveLearnsTheResult) {
  const auto game = MakeGame("tic_tac_toe");
  FlatEvaluator network;
  const auto generator = MakeGenerator(*game, ConfigFor(GetParam()), &network);
  DataBuffer buffer = generator->MakeBuffer(100 * kSeries);
  generator->Fill({.rows = 100 * kSeries}, buffer, StopSignal());
  int last_moves = 0;
  for (std::size_t i = 0; i < buffer.rows(); ++i) {
    const std::span<const std::uint8_t> input = buffer.column(kInputColumn)[i];
    if (std::ranges::count(input, 0) != 1) continue;
    std::vector<std::uint8_t> full(input.begin(), input.end());
    *std::ranges::find(full, 0) = 1;  // the player to move is 1 in an input
    const auto is_line = [&](std::size_t a, std::size_t b, std::size_t c) {
      return full[a] == 1 && full[b] == 1 && full[c] == 1;
    };
    const bool wins = is_line(0, 1, 2) || is_line(3, 4, 5) || is_line(6, 7, 8) ||
                      is_line(0, 3, 6) || is_line(1, 4, 7) || is_line(2, 5, 8) ||
                      is_line(0, 4, 8) || is_line(2, 4, 6);
    // Half the result and half the value of the search, which has estimated the position itself.
    const float cost = buffer.floats(kTargetColumn, i)[0];
    EXPECT_NEAR(cost, wins ? 0 : 1, 0.1);
    ++last_moves;
  }
  EXPECT_GT(last_moves, 20);
}

TEST_P(SelfPlay, StopEndsAFillAndTheNextFillIsWhole) {
  const auto game = MakeGame("tic_tac_toe");
  OpinionatedEvaluator network;
  const auto generator = MakeGenerator(*game, ConfigFor(GetParam()), &network);
  DataBuffer buffer = generator->MakeBuffer(4 * kSeries);
  StopSignal stop;
  stop.Request();
  EXPECT_THROW(generator->Fill({.rows = 4 * kSeries}, buffer, stop), Stopped);
  generator->Fill({.rows = 4 * kSeries}, buffer, StopSignal());
  CheckExamples(buffer, 3, "test");
}

INSTANTIATE_TEST_SUITE_P(Each, SelfPlay, testing::Values(GameSearch::kGumbel, GameSearch::kPuct),
                         [](const auto& test) {
                           return std::string(NameOf(kGameSearches, test.param));
                         });

TEST(SelfPlayOf, PuzzleIsRefusedAndSoIsAPuzzlesTargetOfAGame) {
  FlatEvaluator network;
  const auto puzzle = MakeDomain("npuzzle:3");
  EXPECT_THAT([&] { MakeGenerator(*puzzle, ConfigFor(GameSearch::kPuct), &network); },
              ThrowsMessage<InputError>(HasSubstr("`generate.target: self_play` is for games")));
  const auto game = MakeGame("tic_tac_toe");
  EXPECT_THAT([&] { MakeGenerator(*game, GeneratorConfig({}), &network); },
              ThrowsMessage<InputError>(HasSubstr("Set generate.target to self_play")));
}

}  // namespace
}  // namespace tandem
