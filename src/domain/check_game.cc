#include "domain/check_game.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>

#include "base/random.h"
#include "domain/moves.h"

namespace tandem {
namespace {

using Bytes = std::vector<std::uint8_t>;

constexpr std::uint64_t kGames = 20;
constexpr int kMostMoves = 10'000;  // a game that takes longer may never end

std::size_t NumActions(const GameDomain& game) {
  return static_cast<std::size_t>(game.spec().num_actions());
}

std::string NameOf(const GameDomain& game, std::span<const std::uint8_t> state) {
  return "state " + game.FormatState(state);
}

Outcome OutcomeOf(const GameDomain& game, std::span<const std::uint8_t> state) {
  Outcome outcome = Outcome::kOpen;
  game.Outcomes(ConstRows(state), {&outcome, 1});
  return outcome;
}

int PlayerOf(const GameDomain& game, std::span<const std::uint8_t> state) {
  std::uint8_t player = 2;
  game.Players(ConstRows(state), {&player, 1});
  return player;
}

Bytes MaskOf(const GameDomain& game, std::span<const std::uint8_t> state) {
  Bytes legal(NumActions(game));
  game.Mask(ConstRows(state), legal);
  return legal;
}

Bytes InputOf(const GameDomain& game, std::span<const std::uint8_t> state) {
  Bytes input(static_cast<std::size_t>(game.spec().input.positions));
  game.Encode(ConstRows(state), Rows(std::span(input)));
  return input;
}

// Makes a random move. Returns nothing if the game is over.
std::optional<Action> MoveAtRandom(const GameDomain& game, Random& random, Bytes& state) {
  std::optional<Action> action;
  const std::uint64_t number = random.Next();
  game.StepBack(Rows(std::span(state)), {&number, 1}, {&action, 1});
  return action;
}

std::string CheckMoves(const GameDomain& game, ConstRows states) {
  for (std::size_t i = 0; i < states.size(); ++i) {
    const bool is_open = OutcomeOf(game, states[i]) == Outcome::kOpen;
    const bool can_move = std::ranges::count(MaskOf(game, states[i]), std::uint8_t{1}) > 0;
    if (is_open == can_move) continue;
    return NameOf(game, states[i]) + (is_open ? ": the game goes on, yet no action applies"
                                              : ": the game is over, yet an action applies");
  }
  return "";
}

std::string CheckTurns(const GameDomain& game, ConstRows states) {
  for (std::size_t i = 0; i < states.size(); ++i) {
    const int player = PlayerOf(game, states[i]);
    if (player > 1) return fmt::format("{}: player {}", NameOf(game, states[i]), player);
    const Bytes legal = MaskOf(game, states[i]);
    for (std::size_t a = 0; a < legal.size(); ++a) {
      if (legal[a] == 0) continue;
      const auto action = static_cast<Action>(a);
      Bytes child(states[i].begin(), states[i].end());
      game.Apply(Rows(std::span(child)), {&action, 1});
      if (PlayerOf(game, child) == 1 - player) continue;
      return fmt::format("action {} in {}: the same player moves again",
                         game.spec().action_names[a], NameOf(game, states[i]));
    }
  }
  return "";
}

std::string CheckEnds(const GameDomain& game, ConstRows /*states*/) {
  for (std::uint64_t i = 0; i < kGames; ++i) {
    Random random(6, Purpose::kScramble, 0, i);
    Bytes state = GoalOf(game);
    int moves = 0;
    while (moves < kMostMoves && MoveAtRandom(game, random, state)) ++moves;
    if (moves == 0) return "the start has no move: " + NameOf(game, state);
    if (moves < kMostMoves) continue;
    return fmt::format("random play makes {} moves, and the game goes on: {}", moves,
                       NameOf(game, state));
  }
  return "";
}

Bytes ImageOf(const Symmetry& symmetry, const Bytes& input) {
  Bytes image(input.size());
  for (std::size_t p = 0; p < input.size(); ++p) image[symmetry.positions[p]] = input[p];
  return image;
}

// Whether the start is its own image. If not, as in Othello, no game may reach other images.
bool KeepsStart(const GameDomain& game, const Symmetry& symmetry) {
  const Bytes input = InputOf(game, GoalOf(game));
  return ImageOf(symmetry, input) == input;
}

// Plays a random game, and beside it the game of the images of its moves.
std::string CheckSymmetry(const GameDomain& game, const Symmetry& symmetry, std::uint64_t number) {
  Random random(8, Purpose::kScramble, 0, number);
  Bytes state = GoalOf(game);
  Bytes image = state;
  for (int moves = 0; moves < kMostMoves; ++moves) {
    if (ImageOf(symmetry, InputOf(game, state)) != InputOf(game, image)) {
      return fmt::format("the images of the moves to {} lead to {}", NameOf(game, state),
                         NameOf(game, image));
    }
    if (OutcomeOf(game, state) != OutcomeOf(game, image)) {
      return fmt::format("{} and its image {} have different outcomes", NameOf(game, state),
                         NameOf(game, image));
    }
    const std::optional<Action> action = MoveAtRandom(game, random, state);
    if (!action) return "";
    game.Apply(Rows(std::span(image)), {&symmetry.actions[*action], 1});
  }
  return "";
}

std::string CheckSymmetries(const GameDomain& game, ConstRows /*states*/) {
  for (const Symmetry& symmetry : game.symmetries()) {
    for (std::uint64_t i = 0; i < kGames && KeepsStart(game, symmetry); ++i) {
      std::string wrong = CheckSymmetry(game, symmetry, i);
      if (!wrong.empty()) return wrong;
    }
  }
  return "";
}

}  // namespace

std::vector<GamePromise> GamePromises(const GameDomain& game) {
  const std::vector<Symmetry>& all = game.symmetries();
  const auto checked = std::ranges::count_if(
      all, [&](const Symmetry& symmetry) { return KeepsStart(game, symmetry); });
  return {{"actions apply exactly while the game goes on", CheckMoves},
          {"the players take turns", CheckTurns},
          {"games end", CheckEnds},
          {fmt::format("symmetries that keep the start map games to games ({} of {})", checked,
                       all.size()),
           CheckSymmetries}};
}

}  // namespace tandem
