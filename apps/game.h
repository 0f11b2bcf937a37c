// The state of a puzzle being played, with undo.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "tandem/domain.h"

namespace tandem {

/// `Game` holds the current state of a puzzle and the moves that led to it from the start.
class Game {
 public:
  /// `domain` must outlive the game.
  Game(const Domain& domain, std::vector<std::uint8_t> start);

  std::span<const std::uint8_t> state() const { return state_; }
  bool solved() const;

  /// Number and total cost of the moves since the start, without undone ones.
  std::size_t moves() const { return made_.size(); }
  float cost() const;

  /// Makes the moves one by one, up to the first that does not apply. Returns how many it made.
  std::size_t Move(std::span<const Action> actions);

  /// Undoes the last `count` moves, or all if there are fewer. Returns how many it undid.
  std::size_t Undo(std::size_t count);

  /// Restarts the game from `start`, with no moves made.
  void Start(std::vector<std::uint8_t> start);

 private:
  bool Applies(Action action) const;

  struct Made {
    std::vector<std::uint8_t> before;  // undo needs it, because not every action has an inverse
    float cost;
  };

  const Domain& domain_;
  std::vector<std::uint8_t> state_;
  std::vector<Made> made_;
};

}  // namespace tandem
