// Shared code of puzzles on a board of walls and floor: cells, their letters, their picture.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "tandem/domain.h"
#include "tandem/registry.h"

namespace tandem::board {

/// Cell is one cell of the board and one byte of a state. The board is stored row by row.
enum Cell : std::uint8_t {
  kFloor,
  kWall,
  kGoal,
  kPlayer,
  kPlayerOnGoal,
  kBox,
  kBoxOnGoal,
};

/// The letter of each cell in XSB, the usual notation of Sokoban levels.
inline constexpr std::string_view kLetters = " #.@+$*";

/// Other letters for floor, for files in which spaces could get lost.
inline constexpr std::string_view kOtherFloors = "-_";

/// `text` without run lengths: a number repeats the letter after it, as in "3#" for "###". Throws
/// InputError if a number has no letter after it, or if the result would be very long.
std::string WithoutRuns(std::string_view text);

/// A random number generator for boards. It gives the same numbers on every machine.
using Randomness = std::mt19937_64;

/// Reads a board: at most shape.rows lines of at most shape.columns letters. Lines may have run
/// lengths, and '|' may end a line. Only the first `kinds` kinds of cells are allowed. Cells
/// that the text leaves out become walls. Lines that are too long lose floor at their ends. Throws
/// InputError that names the line and column of an unknown letter, or if there is not exactly one
/// player.
void Parse(std::string_view text, BoardShape shape, int kinds, std::span<std::uint8_t> state);

/// The position of the player. Every state has one. For other bytes it returns any position.
int PlayerOf(std::span<const std::uint8_t> state);

/// Remove a player or a box from a cell, which leaves the goal or the floor, and put one there.
inline std::uint8_t Without(std::uint8_t cell) {
  return cell == kPlayerOnGoal || cell == kBoxOnGoal ? kGoal : kFloor;
}
inline std::uint8_t WithPlayer(std::uint8_t cell) {
  return cell == kGoal ? kPlayerOnGoal : kPlayer;
}
inline std::uint8_t WithBox(std::uint8_t cell) { return cell == kGoal ? kBoxOnGoal : kBox; }
inline bool IsFree(std::uint8_t cell) { return cell == kFloor || cell == kGoal; }
inline bool IsBox(std::uint8_t cell) { return cell == kBox || cell == kBoxOnGoal; }

/// Puts a goal on a cell or takes it away.
inline std::uint8_t WithGoal(std::uint8_t cell, bool goal) {
  if (cell == kPlayer || cell == kPlayerOnGoal) return goal ? kPlayerOnGoal : kPlayer;
  if (IsBox(cell)) return goal ? kBoxOnGoal : kBox;
  return cell == kWall ? kWall : goal ? kGoal : kFloor;
}

/// The least and greatest number of cells along a side of a board.
inline constexpr int kMinSize = 5;
inline constexpr int kMaxSize = 50;

/// The parameter that chooses the shape.
DomainParameter SizeParameter();

/// BoardDomain is a puzzle in which a player moves on a board. Each problem has its own board.
class BoardDomain : public Domain {
 public:
  void WriteGoals(Rows states) const final;
  void DrawGoals(Rows states, std::span<const std::uint64_t> seeds) const final;
  void Apply(Rows states, std::span<const Action> actions) const final;
  void Expand(ConstRows states, Rows children) const final;
  void Mask(ConstRows states, std::span<std::uint8_t> applies) const final;
  std::string FormatState(std::span<const std::uint8_t> state) const final;
  Picture Draw(std::span<const std::uint8_t> state) const final;
  bool IsStateLine(std::string_view line) const final;

 protected:
  /// `spec` must have a board.
  explicit BoardDomain(DomainSpec spec) : Domain(std::move(spec)), shape_(*this->spec().board) {}

  BoardShape shape() const { return shape_; }

 private:
  /// Draws a problem from `seed` and writes its goal.
  virtual void DrawGoal(std::span<std::uint8_t> state, std::uint64_t seed) const = 0;

  virtual bool Applies(const std::uint8_t* state, int player, Action action) const = 0;

  /// Moves the player from `player`, and the box that it moves, if any. Requires that the action
  /// applies.
  virtual void Move(std::uint8_t* state, int player, Action action) const = 0;

  const BoardShape shape_;
};

/// Makes a puzzle of class D with the shape `argument`. Returns null if that is not a valid shape.
template <class D>
std::unique_ptr<const Domain> Make(const std::string& argument) {
  const std::optional<BoardShape> shape = ParseBoardShape(argument, kMinSize, kMaxSize);
  return shape ? std::make_unique<const D>(*shape) : nullptr;
}

}  // namespace tandem::board
