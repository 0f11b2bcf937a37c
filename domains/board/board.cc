#include "board/board.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

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
      if (cell >= static_cast<std::size_t>(kinds)) {
        ThrowUnknownLetter(line, column, row[column], kinds);
      }
      state[line * width + column] = static_cast<std::uint8_t>(cell);
    }
  }
  CheckPlayer(state, size);
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
          .meaning = "number of cells along a side of the board",
          .expected = "a whole number from 5 to 16",
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

// Writes the lines of letters, without a line feed after the last line.
std::string BoardDomain::FormatState(std::span<const std::uint8_t> state) const {
  std::string text;
  for (std::size_t i = 0; i < state.size(); ++i) {
    if (i > 0 && i % static_cast<std::size_t>(size_) == 0) text += '\n';
    text += LetterOf(state[i]);
  }
  return text;
}

Picture BoardDomain::Draw(std::span<const std::uint8_t> state) const {
  constexpr std::array<std::int32_t, 7> kColours = {0xf4ead2, 0x4a4a55, 0xf2c14e, 0x3b7dd8,
                                                    0x2f9e5b, 0xb5793a, 0x6f8f2f};
  Picture picture;
  for (int i = 0; i < size_ * size_; ++i) {
    const int row = i / size_;
    const std::string letter(1, LetterOf(state[i]));
    const bool is_cell = state[i] < kColours.size();
    picture.cells.push_back({.x = static_cast<float>(i % size_),
                             .y = static_cast<float>(row),
                             .text = state[i] == kWall ? "" : letter,
                             .colour = is_cell ? kColours[state[i]] : tandem::Cell::kPlain,
                             .without_colour = letter});
  }
  return picture;
}

}  // namespace tandem::board
