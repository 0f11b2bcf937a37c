// Finds states of a permutation puzzle that no moves reach, as far as their labels show it.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "tandem/permutation.h"

namespace tandem {

/// Orbits knows which positions the moves of a puzzle bring to which others, and which of them
/// always move together, as the stickers of a piece do. Immutable.
class Orbits {
 public:
  Orbits(std::vector<std::uint8_t> goal, const std::vector<Permutation>& permutations);

  /// Says why no moves lead from `state` to the goal, and what helps; "" if its labels do not show
  /// it. A puzzle can have states that pass and yet cannot be solved. Requires the labels of the
  /// goal, in any order. `labels` are their names.
  std::string WhyUnreachable(std::span<const std::uint8_t> state,
                             const std::vector<std::string>& labels) const;

 private:
  // The labels at positions that move together. GCC 12 warns without reason where it compares
  // vectors of bytes.
  using Piece = std::vector<std::uint16_t>;

  // The places that the contents of one position reach. A place has that position first, and then
  // the positions that move together with it, in an order that moves keep.
  struct Orbit {
    std::vector<std::vector<std::uint8_t>> places;
    std::map<Piece, int> pieces;  // how often each occurs in the goal
  };

  // The number of labels of each kind in `state`, by orbit.
  std::vector<std::vector<int>> LabelsOf(std::span<const std::uint8_t> state) const;

  std::string Fault(std::span<const std::uint8_t> state,
                    const std::vector<std::string>& labels) const;

  static std::string FaultOfPieces(const Orbit& orbit, std::span<const std::uint8_t> state,
                                   const std::vector<std::string>& labels);

  // Names for the labels with which `state` has no fault, by label; empty if there are none.
  std::vector<std::uint8_t> OtherNames(std::span<const std::uint8_t> state,
                                       const std::vector<std::string>& labels) const;

  const std::vector<std::uint8_t> goal_;
  const std::size_t num_labels_;
  std::vector<Orbit> orbits_;
};

}  // namespace tandem
