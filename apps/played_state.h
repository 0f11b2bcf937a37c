// The state that someone plays from, and the lines that the player enters.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/stop_signal.h"
#include "tandem/domain.h"

namespace tandem {

/// PlayedState holds the current state of a puzzle or a game, and the moves that led to it from the
/// start.
class PlayedState {
 public:
  /// `domain` must outlive this object.
  PlayedState(const Domain& domain, std::vector<std::uint8_t> start);

  std::span<const std::uint8_t> state() const { return state_; }
  bool solved() const { return IsGoal(domain_, state()); }

  /// Number and total cost of the moves since the start, without undone ones.
  std::size_t moves() const { return history_.size(); }
  float cost() const;

  /// Makes moves until one does not apply. Returns how many it made.
  std::size_t Move(std::span<const Action> actions);

  /// Undoes the last `count` moves, or all if there are fewer. Returns how many it undid.
  std::size_t Undo(std::size_t count);

  /// Restarts from `start`, with no moves made.
  void Start(std::vector<std::uint8_t> start);

 private:
  struct PastMove {
    std::vector<std::uint8_t> before;  // undo needs it, because not every action has an inverse
    float cost;
  };

  bool Applies(Action action) const;

  const Domain& domain_;
  std::vector<std::uint8_t> state_;
  std::vector<PastMove> history_;
};

/// LineReader reads lines from standard input, which may be a pipe, a file or a terminal. Unlike
/// std::getline, it stops waiting once a stop is requested.
class LineReader {
 public:
  /// Returns the next line without its line feed. Returns nothing at the end of the input, or once
  /// `stop` is reached. Throws Error if the input cannot be read.
  std::optional<std::string> Next(const StopSignal& stop);

 private:
  bool Fill(const StopSignal& stop);

  std::string read_;  // input that has been read but not returned
};

}  // namespace tandem
