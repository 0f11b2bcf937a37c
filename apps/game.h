// A puzzle being played: the state, and how it came to be.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "tandem/domain.h"

namespace tandem {

class Game {
 public:
  /// `domain` must outlive this.
  Game(const Domain& domain, std::vector<std::uint8_t> start);

  std::span<const std::uint8_t> state() const { return state_; }
  bool solved() const;

  /// Since the start, without those undone.
  std::size_t moves() const { return made_.size(); }
  float cost() const;

  /// Takes the actions one by one, up to the first that does not apply; returns how many that were.
  std::size_t Move(std::span<const Action> actions);

  /// Takes back so many moves, or all where there are fewer; returns how many that were.
  std::size_t Undo(std::size_t count);

  /// Begins anew from `start`.
  void Start(std::vector<std::uint8_t> start);

 private:
  bool Applies(Action action) const;

  struct Made {
    std::vector<std::uint8_t> before;  // since not every action can be undone
    float cost;
  };

  const Domain& domain_;
  std::vector<std::uint8_t> state_;
  std::vector<Made> made_;
};

}  // namespace tandem
