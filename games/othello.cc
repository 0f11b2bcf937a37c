// Othello on a board of 6 x 6 or 8 x 8 cells: a stone turns the other's stones that it encloses.
#include <memory>
#include <utility>

#include "board_game.h"

namespace tandem {
namespace {

// A state is the cells, and then the player whose turn it is, 0 or 1.
template <int kSize>
struct Othello {
  static constexpr const char* kSummary =
      "enclosed stones change their colour, and most stones win; a state is rows, then X or O for "
      "the player to move";
  static constexpr BoardShape kBoard = {.rows = kSize, .columns = kSize};
  static constexpr int kInputs = kSize * kSize;
  static constexpr int kActions = kInputs + 1;  // the last one passes
  static constexpr int kDepth = 3;
  static constexpr int kSymmetries = 8;
  static constexpr std::size_t kTurn = kInputs;
  using State = std::array<std::uint8_t, kInputs + 1>;

  static State Start() {
    State state{};
    constexpr std::size_t kTop = (kSize / 2 - 1) * kSize + kSize / 2 - 1;
    state[kTop] = state[kTop + kSize + 1] = 2;
    state[kTop + 1] = state[kTop + kSize] = 1;
    return state;
  }

  static int Player(const State& state) { return state[kTurn]; }

  // Calls turn(cell) for each stone that a stone of `player` on `cell` turns.
  static void ForTurned(const State& state, int cell, int player, const auto& turn) {
    const int own = 1 + player;
    for (int direction = 0; direction < 9; ++direction) {
      const int down = direction / 3 - 1;
      const int right = direction % 3 - 1;
      const int step = down * kSize + right;
      if (step == 0) continue;
      int row = cell / kSize + down;
      int column = cell % kSize + right;
      const auto holds = [&](int stone) {
        const int at = row * kSize + column;
        return row >= 0 && row < kSize && column >= 0 && column < kSize &&
               state[static_cast<std::size_t>(at)] == stone;
      };
      int others = 0;
      for (; holds(3 - own); ++others) {
        row += down;
        column += right;
      }
      if (!holds(own)) continue;
      for (int at = cell + step; others > 0; --others, at += step) {
        turn(static_cast<std::size_t>(at));
      }
    }
  }

  static bool IsLegal(const State& state, int cell, int player) {
    if (state[static_cast<std::size_t>(cell)] != 0) return false;
    bool turns = false;
    ForTurned(state, cell, player, [&](std::size_t /*turned*/) { turns = true; });
    return turns;
  }

  static bool CanMove(const State& state, int player) {
    for (int cell = 0; cell < kInputs; ++cell) {
      if (IsLegal(state, cell, player)) return true;
    }
    return false;
  }

  static std::optional<int> Result(const State& state) {
    if (CanMove(state, 0) || CanMove(state, 1)) return std::nullopt;
    const auto own = static_cast<std::uint8_t>(1 + Player(state));
    const int lead = games::CountCells(state, kInputs, own) -
                     games::CountCells(state, kInputs, static_cast<std::uint8_t>(3 - own));
    return (lead > 0 ? 1 : 0) - (lead < 0 ? 1 : 0);
  }

  static bool Apply(State& state, int action) {
    const int player = Player(state);
    if (action == kInputs) {
      if (CanMove(state, player)) return false;
    } else {
      if (!IsLegal(state, action, player)) return false;
      const State before = state;
      const auto own = static_cast<std::uint8_t>(1 + player);
      state[static_cast<std::size_t>(action)] = own;
      ForTurned(before, action, player, [&](std::size_t turned) { state[turned] = own; });
    }
    state[kTurn] = static_cast<std::uint8_t>(1 - player);
    return true;
  }

  static void Encode(const State& state, std::uint8_t* input) {
    games::EncodeCells(state, kInputs, Player(state), input);
  }
  static int Image(int symmetry, int position) { return ImageOnBoard(kBoard, symmetry, position); }
  static int ImageOfAction(int symmetry, int action) {
    return action == kInputs ? action : Image(symmetry, action);
  }
  static std::string ActionName(int action) {
    if (action == kInputs) return "pass";
    return {static_cast<char>('a' + action % kSize), static_cast<char>('1' + action / kSize)};
  }
  static std::string Format(const State& state) {
    const char player = games::LetterOf(static_cast<std::uint8_t>(state[kTurn] + 1));
    return games::FormatCells(state, kBoard) + " " + player;
  }
  static State Parse(std::string_view text) {
    const std::vector<std::string_view> words = Words(text);
    if (words.size() != 2 || (words[1] != "X" && words[1] != "O")) {
      throw InputError("expected the board and, after a space, X or O for the player to move");
    }
    State state{};
    games::ParseCells(words[0], kBoard, state);
    state[kTurn] = words[1] == "X" ? 0 : 1;
    return state;
  }
  static Picture Draw(const State& state) { return games::DrawCells(state, kBoard, 0x2E7D4F); }
};

std::unique_ptr<const Domain> MakeOthello(const std::string& size) {
  if (size == "6") return std::make_unique<GameOf<Othello<6>>>("othello:6");
  if (size == "8") return std::make_unique<GameOf<Othello<8>>>("othello:8");
  return nullptr;
}

TANDEM_REGISTER_DOMAIN(othello,
                       DomainParameter{.key = "size",
                                       .meaning = "cells along each side of the board",
                                       .expected = "6 or 8",
                                       .default_value = "8"},
                       MakeOthello);

}  // namespace
}  // namespace tandem
