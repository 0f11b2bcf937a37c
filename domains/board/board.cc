#include "board/board.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "tandem/error.h"

namespace tandem::board {
namespace {

std::string At(std::size_t line, std::size_t column) {
  return "line " + std::to_string(line + 1) + ", column " + std::to_string(column + 1);
}

// For messages: what is not printable is not one that a terminal or JSON could show.
std::string Quoted(char letter) {
  if (letter >= 0x20 && letter < 0x7f) return std::string("'") + letter + "'";
  return "the byte " + std::to_string(static_cast<unsigned char>(letter));
}

[[noreturn]] void NoCell(std::size_t line, std::size_t column, char letter, int kinds) {
  std::string known;
  for (const char each : kLetters.substr(0, static_cast<std::size_t>(kinds))) {
    known += std::string(known.empty() ? "" : " ") + "'" + each + "'";
  }
  throw InputError(At(line, column) + " is " + Quoted(letter) + ", expected one of " + known);
}

void CheckPlayer(std::span<const std::uint8_t> state, int size) {
  const auto is_player = [](std::uint8_t cell) { return cell == kPlayer || cell == kPlayerOnGoal; };
  const auto first = std::ranges::find_if(state, is_player);
  if (first == state.end()) throw InputError("there is no player, expected one '@' or '+'");
  const auto second = std::find_if(first + 1, state.end(), is_player);
  if (second == state.end()) return;
  const auto at = static_cast<std::size_t>(second - state.begin());
  const auto width = static_cast<std::size_t>(size);
  throw InputError(At(at / width, at % width) + " has a second player, expected one");
}

}  // namespace

void Parse(std::string_view text, int size, int kinds, std::span<std::uint8_t> state) {
  std::ranges::fill(state, kWall);
  const auto width = static_cast<std::size_t>(size);
  for (std::size_t line = 0; !text.empty(); ++line) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view row = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (row.ends_with('\r')) row.remove_suffix(1);
    if (line >= width) {
      throw InputError("line " + std::to_string(line + 1) + " is one too many, expected at most " +
                       std::to_string(size));
    }
    if (row.size() > width) {
      throw InputError("line " + std::to_string(line + 1) + " has " + std::to_string(row.size()) +
                       " cells, expected at most " + std::to_string(size));
    }
    for (std::size_t column = 0; column < row.size(); ++column) {
      const std::size_t cell = kLetters.find(row[column]);
      if (cell >= static_cast<std::size_t>(kinds)) NoCell(line, column, row[column], kinds);
      state[line * width + column] = static_cast<std::uint8_t>(cell);
    }
  }
  CheckPlayer(state, size);
}

std::string Format(std::span<const std::uint8_t> state, int size) {
  std::string text;
  for (std::size_t i = 0; i < state.size(); ++i) {
    if (i > 0 && i % static_cast<std::size_t>(size) == 0) text += '\n';
    text += kLetters[state[i]];
  }
  return text;
}

Picture Draw(std::span<const std::uint8_t> state, int size) {
  constexpr std::array<std::int32_t, 7> kColours = {0xf4ead2, 0x4a4a55, 0xf2c14e, 0x3b7dd8,
                                                    0x2f9e5b, 0xb5793a, 0x6f8f2f};
  Picture picture;
  for (int i = 0; i < size * size; ++i) {
    const int row = i / size;
    picture.cells.push_back({.x = static_cast<float>(i % size),
                             .y = static_cast<float>(row),
                             .text = std::string(1, kLetters[state[i]]),
                             .colour = kColours[state[i]]});
  }
  return picture;
}

int PlayerOf(const std::uint8_t* state) {
  int at = 0;
  while (state[at] != kPlayer && state[at] != kPlayerOnGoal) ++at;
  return at;
}

int ParseSize(std::string_view text, int least, int most) {
  int number = -1;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  const bool whole = error == std::errc() && stop == end && !text.starts_with('0');
  return whole && number >= least && number <= most ? number : -1;
}

}  // namespace tandem::board
