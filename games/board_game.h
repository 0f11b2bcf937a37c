// Positions of board games as text and pictures, which the games share.
//
// A cell is 0 if it is empty, 1 if a stone of the first player (X) is on it, and 2 if one of the
// second player (O) is. The text of a board is its rows from the top, separated by '/':
// "X.O/.../...".
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "tandem/error.h"
#include "tandem/game.h"
#include "tandem/state_text.h"

namespace tandem::games {

inline constexpr std::string_view kLetters = ".XO";

/// The letter of a cell; '?' of a byte that no cell holds.
constexpr char LetterOf(std::uint8_t cell) { return cell < kLetters.size() ? kLetters[cell] : '?'; }

/// The number of cells with `value`, among the first `cells` bytes of a state.
template <class State>
int CountCells(const State& state, int cells, std::uint8_t value) {
  return static_cast<int>(std::count(state.begin(), state.begin() + cells, value));
}

/// Writes the cells as the player to move sees them: 1 for one's own stones, 2 for the other's.
template <class State>
void EncodeCells(const State& state, int cells, int player, std::uint8_t* input) {
  for (std::size_t i = 0; i < static_cast<std::size_t>(cells); ++i) {
    input[i] = state[i] == 0 || player == 0 ? state[i] : static_cast<std::uint8_t>(3 - state[i]);
  }
}

template <class State>
std::string FormatCells(const State& state, BoardShape shape) {
  std::string text;
  for (int cell = 0; cell < shape.cells(); ++cell) {
    if (cell > 0 && cell % shape.columns == 0) text += '/';
    text += LetterOf(state[static_cast<std::size_t>(cell)]);
  }
  return text;
}

/// Reads what FormatCells writes. Throws InputError that says what was found.
template <class State>
void ParseCells(std::string_view text, BoardShape shape, State& state) {
  const int length = shape.cells() + shape.rows - 1;
  if (static_cast<int>(text.size()) != length) {
    throw InputError("the board has " + std::to_string(text.size()) + " characters, expected " +
                     std::to_string(length) + ": " + std::to_string(shape.rows) + " rows of " +
                     std::to_string(shape.columns) + " cells, separated by '/'");
  }
  std::size_t cell = 0;
  for (int i = 0; i < length; ++i) {
    const char letter = text[static_cast<std::size_t>(i)];
    const bool is_between = i % (shape.columns + 1) == shape.columns;
    const std::size_t value = kLetters.find(letter);
    if (is_between ? letter != '/' : value == std::string_view::npos) {
      throw InputError("character " + std::to_string(i + 1) + " of the board is " + Quoted(letter) +
                       ", expected " + (is_between ? "'/'" : "'.', 'X' or 'O'"));
    }
    if (!is_between) state[cell++] = static_cast<std::uint8_t>(value);
  }
}

/// Draws the cells as discs on a board of the given colour.
template <class State>
Picture DrawCells(const State& state, BoardShape shape, std::int32_t board) {
  constexpr std::array<std::int32_t, 3> kColours = {0, 0xE8C23A, 0xD23C3C};
  Picture picture;
  for (int cell = 0; cell < shape.cells(); ++cell) {
    const std::uint8_t value = state[static_cast<std::size_t>(cell)];
    const int row = cell / shape.columns;
    picture.cells.push_back(
        {.x = static_cast<float>(cell % shape.columns),
         .y = static_cast<float>(row),
         .text = std::string(1, LetterOf(value)),
         .colour = value == 0 || value >= kColours.size() ? board : kColours[value],
         .width = 1,
         .without_colour = ""});
  }
  return picture;
}

/// Says why a position in which stones are only added cannot occur, or returns "".
template <class State>
std::string ValidateCounts(const State& state) {
  const int cells = static_cast<int>(state.size());
  const int first = CountCells(state, cells, 1);
  const int second = CountCells(state, cells, 2);
  if (first == second || first == second + 1) return "";
  return "there are " + std::to_string(first) + " X and " + std::to_string(second) +
         " O, expected as many X as O, or one more, since X begins";
}

/// Whether `player`, 1 or 2, has `length` stones in a row, a column or a diagonal.
template <class State>
bool HasLine(const State& state, BoardShape shape, int length, std::uint8_t player) {
  constexpr std::array<std::array<int, 2>, 4> kDirections = {{{0, 1}, {1, 0}, {1, 1}, {1, -1}}};
  for (int cell = 0; cell < shape.cells(); ++cell) {
    for (const auto& [down, right] : kDirections) {
      const int last_row = cell / shape.columns + (length - 1) * down;
      const int last_column = cell % shape.columns + (length - 1) * right;
      if (last_row >= shape.rows || last_column < 0 || last_column >= shape.columns) continue;
      const int step = down * shape.columns + right;
      int stones = 0;
      for (int at = cell; stones < length && state[static_cast<std::size_t>(at)] == player;
           at += step) {
        ++stones;
      }
      if (stones == length) return true;
    }
  }
  return false;
}

/// LineGame has what games share in which players add stones until one has a line of kLength.
template <int kRows, int kColumns, int kLength>
struct LineGame {
  static constexpr BoardShape kBoard = {.rows = kRows, .columns = kColumns};
  static constexpr int kDepth = 3;
  static constexpr int kInputs = kRows * kColumns;
  using State = std::array<std::uint8_t, std::size_t{kRows} * kColumns>;

  static State Start() { return {}; }
  static int Player(const State& state) { return (kInputs - CountCells(state, kInputs, 0)) % 2; }
  // Only the player who moved last can have won.
  static std::optional<int> Result(const State& state) {
    const auto other = static_cast<std::uint8_t>(2 - Player(state));
    if (HasLine(state, kBoard, kLength, other)) return -1;
    return CountCells(state, kInputs, 0) == 0 ? std::optional(0) : std::nullopt;
  }
  static void Encode(const State& state, std::uint8_t* input) {
    EncodeCells(state, kInputs, Player(state), input);
  }
  static int Image(int symmetry, int position) { return ImageOnBoard(kBoard, symmetry, position); }
  static std::string Format(const State& state) { return FormatCells(state, kBoard); }
  static State Parse(std::string_view text) {
    State state{};
    ParseCells(Trimmed(text), kBoard, state);
    return state;
  }
  static std::string Validate(const State& state) {
    std::string problem = ValidateCounts(state);
    const auto mover = static_cast<std::uint8_t>(1 + Player(state));
    if (problem.empty() && HasLine(state, kBoard, kLength, mover)) {
      problem = "the player whose turn it is has won already";
    }
    return problem;
  }
};

}  // namespace tandem::games
