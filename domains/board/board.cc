#include "board/board.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cctype>
#include <charconv>
#include <cstring>
#include <vector>

#include "tandem/error.h"
#include "tandem/state_text.h"

namespace tandem::board {
namespace {

std::string At(std::size_t line, std::size_t column) {
  return "line " + std::to_string(line + 1) + ", column " + std::to_string(column + 1);
}

[[noreturn]] void ThrowUnknownLetter(std::size_t line, std::size_t column, char letter, int kinds) {
  std::string known;
  for (const char each : kLetters.substr(0, static_cast<std::size_t>(kinds))) {
    known += std::string(known.empty() ? "" : " ") + "'" + each + "'";
  }
  throw InputError(At(line, column) + " is " + Quoted(letter) + ", expected one of " + known);
}

// The letter of a cell; one that Parse rejects if the byte is not a cell.
char LetterOf(std::uint8_t cell) { return cell < kLetters.size() ? kLetters[cell] : '?'; }

void CheckPlayer(std::span<const std::uint8_t> state, std::size_t width) {
  const auto is_player = [](std::uint8_t cell) { return cell == kPlayer || cell == kPlayerOnGoal; };
  const auto first = std::ranges::find_if(state, is_player);
  if (first == state.end()) throw InputError("there is no player, expected one '@' or '+'");
  const auto second = std::find_if(first + 1, state.end(), is_player);
  if (second == state.end()) return;
  const auto at = static_cast<std::size_t>(second - state.begin());
  throw InputError(At(at / width, at % width) + " has a second player, expected one");
}

// The rows of a board as text, with spaces for floor. If a row is longer than `width`, floor is
// taken from its end and, as far as all rows have it, from the beginning of all rows.
std::vector<std::string> SplitRows(std::string_view text, std::size_t width) {
  std::vector<std::string> rows;
  for (const char letter : WithoutRuns(text)) {
    if (letter == '\r') continue;
    if (rows.empty()) rows.emplace_back();
    if (letter == '\n' || letter == '|') {
      rows.emplace_back();
    } else {
      rows.back() +=
          kOtherFloors.find(letter) == std::string_view::npos ? letter : kLetters[kFloor];
    }
  }
  if (!rows.empty() && rows.back().empty()) rows.pop_back();
  std::size_t indent = std::string::npos;
  bool is_too_long = false;
  for (std::string& row : rows) {
    while (row.size() > width && row.back() == kLetters[kFloor]) row.pop_back();
    is_too_long = is_too_long || row.size() > width;
    indent = std::min(indent, row.find_first_not_of(kLetters[kFloor]));
  }
  for (std::string& row : rows) {
    if (is_too_long) row.erase(0, indent);
  }
  return rows;
}

}  // namespace

std::string WithoutRuns(std::string_view text) {
  constexpr std::size_t kMost = 1'000'000;
  std::string result;
  while (!text.empty()) {
    std::size_t run = 1;
    const std::string_view digits = text.substr(0, text.find_first_not_of("0123456789"));
    if (!digits.empty()) std::from_chars(digits.data(), digits.data() + digits.size(), run);
    text.remove_prefix(digits.size());
    if (text.empty() ||
        (!digits.empty() && std::isspace(static_cast<unsigned char>(text[0])) != 0)) {
      throw InputError("the number " + std::string(digits) + " is not followed by a letter");
    }
    if (digits.size() > 6 || result.size() + run > kMost) {
      throw InputError("run lengths make more than " + std::to_string(kMost) + " letters");
    }
    result.append(run, text[0]);
    text.remove_prefix(1);
  }
  return result;
}

void Parse(std::string_view text, BoardShape shape, int kinds, std::span<std::uint8_t> state) {
  std::ranges::fill(state, kWall);
  const auto width = static_cast<std::size_t>(shape.columns);
  const std::vector<std::string> rows = SplitRows(text, width);
  if (std::cmp_greater(rows.size(), shape.rows)) {
    throw InputError("line " + std::to_string(shape.rows + 1) +
                     " is one too many, expected at most " + std::to_string(shape.rows));
  }
  for (std::size_t line = 0; line < rows.size(); ++line) {
    const std::string& row = rows[line];
    if (row.size() > width) {
      throw InputError("line " + std::to_string(line + 1) + " has " + std::to_string(row.size()) +
                       " cells, expected at most " + std::to_string(shape.columns));
    }
    for (std::size_t column = 0; column < row.size(); ++column) {
      const std::size_t cell = kLetters.find(row[column]);
      if (cell >= static_cast<std::size_t>(kinds)) {
        ThrowUnknownLetter(line, column, row[column], kinds);
      }
      state[line * width + column] = static_cast<std::uint8_t>(cell);
    }
  }
  CheckPlayer(state, width);
}

// Compares eight cells at a time, because every action searches the board.
int PlayerOf(std::span<const std::uint8_t> state) {
  static_assert(kPlayer == 3 && kPlayerOnGoal == 4 && kBoxOnGoal == 6);
  static_assert(std::endian::native == std::endian::little, "the first cell is the lowest byte");
  constexpr std::uint64_t kEach = 0x0101'0101'0101'0101;
  std::size_t at = 0;
  for (; at + sizeof(kEach) <= state.size(); at += sizeof(kEach)) {
    std::uint64_t cells = 0;
    std::memcpy(&cells, state.data() + at, sizeof(cells));
    // For the player's cell, cell + 1 is 4 or 5, so the masked value is 0. For others it is 2, 4
    // or 6. Bytes that are not cells may carry into the next one, which gives a wrong position, but
    // one of these eight.
    const std::uint64_t left = ((cells + kEach) & (6 * kEach)) ^ (4 * kEach);
    const std::uint64_t found = (0x80 * kEach - left) & (0x80 * kEach);
    if (found != 0) return static_cast<int>(at) + std::countr_zero(found) / 8;
  }
  while (at < state.size() && state[at] != kPlayer && state[at] != kPlayerOnGoal) ++at;
  return at < state.size() ? static_cast<int>(at) : 0;
}

DomainParameter SizeParameter() {
  return {.key = "size",
          .meaning = "cells along a side of the board, or rows and columns",
          .expected = "a whole number from 5 to 50, or sides that differ: 8x12",
          .default_value = "10"};
}

void BoardDomain::WriteGoals(Rows states) const {
  for (std::size_t i = 0; i < states.size(); ++i) DrawGoal(states[i], 0);
}

void BoardDomain::DrawGoals(Rows states, std::span<const std::uint64_t> seeds) const {
  for (std::size_t i = 0; i < states.size(); ++i) DrawGoal(states[i], seeds[i]);
}

void BoardDomain::Apply(Rows states, std::span<const Action> actions) const {
  for (std::size_t i = 0; i < states.size(); ++i) {
    std::uint8_t* state = states[i].data();
    const int player = PlayerOf(states[i]);
    if (Applies(state, player, actions[i])) Move(state, player, actions[i]);
  }
}

void BoardDomain::Expand(ConstRows states, Rows children) const {
  const auto actions = static_cast<std::size_t>(spec().num_actions());
  for (std::size_t i = 0; i < states.size(); ++i) {
    const int player = PlayerOf(states[i]);
    for (std::size_t a = 0; a < actions; ++a) {
      const std::span<std::uint8_t> child = children[actions * i + a];
      std::ranges::copy(states[i], child.begin());
      const auto action = static_cast<Action>(a);
      if (Applies(child.data(), player, action)) Move(child.data(), player, action);
    }
  }
}

void BoardDomain::Mask(ConstRows states, std::span<std::uint8_t> applies) const {
  const auto actions = static_cast<std::size_t>(spec().num_actions());
  for (std::size_t i = 0; i < states.size(); ++i) {
    const std::uint8_t* state = states[i].data();
    const int player = PlayerOf(states[i]);
    for (std::size_t a = 0; a < actions; ++a) {
      applies[actions * i + a] = Applies(state, player, static_cast<Action>(a)) ? 1 : 0;
    }
  }
}

// A line is a row of a board if it consists of cells, or has walls at both ends and therefore a
// wrong letter. A number alone is a title.
bool BoardDomain::IsStateLine(std::string_view line) const {
  constexpr std::string_view kDigits = "0123456789";
  line = Trimmed(line);
  if (line.empty() || (line.size() > 2 && line.front() == '#' && line.back() == '#')) return true;
  const bool has_runs = line.find_first_of(kDigits) != std::string_view::npos;
  const std::string_view cells = has_runs ? "#" : kLetters.substr(1);
  const std::string known =
      std::string(kLetters) + std::string(kOtherFloors) + "|" + std::string(kDigits);
  return line.find_first_not_of(known) == std::string_view::npos &&
         line.find_first_of(cells) != std::string_view::npos &&
         kDigits.find(line.back()) == std::string_view::npos;
}

// Writes the lines of letters, without a line feed after the last line.
std::string BoardDomain::FormatState(std::span<const std::uint8_t> state) const {
  std::string text;
  for (std::size_t i = 0; i < state.size(); ++i) {
    if (i > 0 && i % static_cast<std::size_t>(shape_.columns) == 0) text += '\n';
    text += LetterOf(state[i]);
  }
  return text;
}

Picture BoardDomain::Draw(std::span<const std::uint8_t> state) const {
  constexpr std::array<std::int32_t, 7> kColours = {0xf4ead2, 0x4a4a55, 0xf2c14e, 0x3b7dd8,
                                                    0x2f9e5b, 0xb5793a, 0x6f8f2f};
  Picture picture;
  for (int i = 0; i < shape_.cells(); ++i) {
    const int row = i / shape_.columns;
    const std::string letter(1, LetterOf(state[i]));
    const bool is_cell = state[i] < kColours.size();
    picture.cells.push_back({.x = static_cast<float>(i % shape_.columns),
                             .y = static_cast<float>(row),
                             .text = state[i] == kWall ? "" : letter,
                             .colour = is_cell ? kColours[state[i]] : tandem::Cell::kPlain,
                             .without_colour = letter});
  }
  return picture;
}

}  // namespace tandem::board
