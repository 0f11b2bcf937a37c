// What puzzles on a square board of walls and floor share: cells, their letters and their picture.
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

/// Where the player is. Every state has one.
int PlayerOf(std::span<const std::uint8_t> state);

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

/// How many cells a side of a board may have.
inline constexpr int kMinSize = 5;
inline constexpr int kMaxSize = 16;

/// The key that chooses it.
DomainParameter SizeParameter();

/// A puzzle in which the player moves about such a board. Each problem has a board of its own.
class BoardDomain : public Domain {
 public:
  void WriteGoals(Rows states) const final;
  void DrawGoals(Rows states, std::span<const std::uint64_t> seeds) const final;
  void Apply(Rows states, std::span<const Action> actions) const final;
  void Expand(ConstRows states, Rows children) const final;
  void Mask(ConstRows states, std::span<std::uint8_t> applies) const final;
  std::string FormatState(std::span<const std::uint8_t> state) const final;
  Picture Draw(std::span<const std::uint8_t> state) const final;

 protected:
  BoardDomain(DomainSpec spec, int size) : Domain(std::move(spec)), size_(size) {}

  /// Cells along a side.
  int size() const { return size_; }

 private:
  /// Writes the goal of the problem that `seed` draws.
  virtual void DrawGoal(std::span<std::uint8_t> state, std::uint64_t seed) const = 0;

  virtual bool Applies(const std::uint8_t* state, int player, Action action) const = 0;

  /// Moves the player, who is at `player`, and what the move takes along. The action applies.
  virtual void Move(std::uint8_t* state, int player, Action action) const = 0;

  const int size_;
};

/// Makes a puzzle of the class D for the size that `argument` is, or nothing if it is none.
template <class D>
std::unique_ptr<const Domain> Make(const std::string& argument) {
  const std::optional<int> size = ParseWholeNumber(argument, kMinSize, kMaxSize);
  return size ? std::make_unique<const D>(*size) : nullptr;
}

}  // namespace tandem::board
