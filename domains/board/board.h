// What puzzles on a square board of walls and floor share: cells, their letters and their picture.
#pragma once

#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <string_view>

#include "tandem/domain.h"

namespace tandem::board {

/// A cell, one byte of a state; the board is stored row by row.
enum Cell : std::uint8_t {
  kFloor,
  kWall,
  kGoal,
  kPlayer,
  kPlayerOnGoal,
  kBox,
  kBoxOnGoal,
};

/// The letters of XSB, the usual notation of Sokoban, by cell.
inline constexpr std::string_view kLetters = " #.@+$*";

/// Random numbers for generators of boards: the same on every machine.
using Randomness = std::mt19937_64;

/// Reads at most `size` lines of at most `size` letters into a board of size x size, of which only
/// the first `kinds` are known; what they leave is wall. Throws InputError that names the line and
/// the column of what is no cell, and unless there is one player.
void Parse(std::string_view text, int size, int kinds, std::span<std::uint8_t> state);

/// Lines of letters, without a line feed behind the last.
std::string Format(std::span<const std::uint8_t> state, int size);

Picture Draw(std::span<const std::uint8_t> state, int size);

/// Where the player is. Every state has one.
int PlayerOf(const std::uint8_t* state);

/// The goal or the floor that is left where the player or a box stood, and the other way round.
inline std::uint8_t Without(std::uint8_t cell) {
  return cell == kPlayerOnGoal || cell == kBoxOnGoal ? kGoal : kFloor;
}
inline std::uint8_t WithPlayer(std::uint8_t cell) {
  return cell == kGoal ? kPlayerOnGoal : kPlayer;
}
inline std::uint8_t WithBox(std::uint8_t cell) { return cell == kGoal ? kBoxOnGoal : kBox; }
inline bool IsFree(std::uint8_t cell) { return cell == kFloor || cell == kGoal; }
inline bool IsBox(std::uint8_t cell) { return cell == kBox || cell == kBoxOnGoal; }

/// A whole number from `least` to `most`, as parameters are; -1 for anything else.
int ParseSize(std::string_view text, int least, int most);

}  // namespace tandem::board
