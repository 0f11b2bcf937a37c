// The inverse of a position of a permutation puzzle.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "config/config.h"
#include "tandem/domain.h"

namespace tandem {

/// InverseFrame computes the inverse of a position: if moves lead from the goal to the position,
/// then the inverses of the moves, in reverse order, lead from the goal to the inverse position. A
/// solution of one gives a solution of the other with as many moves, and a search may find one of
/// them easier (Rokicki's and Kociemba's cube solvers search both).
///
/// The inverse is well defined if each position belongs to only one permutation of the places.
/// Places that always move together, such as the stickers of a piece, are companions. A place and
/// its companions show a sequence of colours, and the place of the goal that shows the same
/// sequence is the one that the sticker came from. This requires that no two places of the goal in
/// the same orbit show the same sequence.
class InverseFrame {
 public:
  /// Throws InputError that gives the reason if the puzzle has no inverse positions, if they cannot
  /// be told from the state, or if an action and its inverse differ in cost. Does not keep
  /// `domain`.
  explicit InverseFrame(const Domain& domain);

  /// The inverse position. Nothing if no permutation leads from the goal to `state`.
  std::optional<std::vector<std::uint8_t>> Invert(std::span<const std::uint8_t> state) const;

  /// Turns a solution of the inverse position into one of the position, or the other way round.
  std::vector<Action> Translate(std::span<const Action> actions) const;

 private:
  // The orbit of a place, and the bytes at the place and its companions.
  using Signature = std::vector<std::uint16_t>;

  Signature SignatureOf(std::span<const std::uint8_t> state, std::size_t place) const;

  std::vector<Action> inverse_actions_;
  std::vector<std::uint8_t> goal_;
  std::vector<std::uint16_t> orbits_;                   // by place
  std::vector<std::vector<std::uint16_t>> companions_;  // by place, with itself first
  std::map<Signature, std::uint16_t> places_;           // the place of the goal with each signature
};

/// The InverseFrame that search.inverse or search.method asks for, or nothing. Throws InputError if
/// the puzzle has no inverse positions, unless search.inverse is `auto`.
std::optional<InverseFrame> MakeInverseFrame(const Domain& domain, const SearchConfig& config);

}  // namespace tandem
