// The states of a permutation puzzle, and the network's input for them, as tables.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "tandem/permutation.h"

namespace tandem {

/// OriginEncoding describes states of a permutation puzzle by origins, for code that cannot call
/// Domain::Encode, such as tensor operations on a GPU. The origin of a position is the position of
/// the goal that its byte comes from, so the goal's origins are 0, 1, 2, ..., and actions permute
/// origins as they permute bytes. Origins tell apart what looks alike: a cube's sticker has one of
/// 6 colours, but one of 54 origins, which says which piece it is on and how the piece is turned.
///
/// Each position of the network's input must be a function of the origins of one or two positions
/// of the state. That is so for inputs that are the bytes of the state, and for the pieces of a
/// cube and their pairs. The functions are not declared anywhere but learned from random states: a
/// table counts only if it covers all origins that moves can bring to its positions, and no sampled
/// state contradicts it.
class OriginEncoding {
 public:
  /// InputTable gives one position of the network's input.
  struct InputTable {
    std::size_t position = 0;           ///< of the state
    std::optional<std::size_t> second;  ///< another position, if two decide the input
    /// The input, by the origin of `position`. With `second`, the element
    /// origin of `position` * number of positions + origin of `second`.
    std::vector<std::uint8_t> values;
  };

  /// `domain` must outlive this. Throws InputError if a state has more than kMaxBytePositions
  /// bytes, if an input depends on more than two positions, or if two positions have too many
  /// origins to learn a table.
  explicit OriginEncoding(const PermutationDomain& domain);

  /// The byte of each origin: the goal.
  const std::vector<std::uint8_t>& bytes() const { return bytes_; }

  /// One table for each position of the network's input.
  std::vector<InputTable> inputs() const;

  /// Returns origins that give the bytes of `state` and its input. Nothing if there are none,
  /// because no moves lead from the goal to `state`. Throws InputError if pieces look alike that an
  /// input may tell apart by two positions.
  std::optional<std::vector<std::uint8_t>> OriginsOf(std::span<const std::uint8_t> state) const;

 private:
  void LearnTables();
  void CheckPairsAreDistinct(std::span<const std::uint8_t> origins) const;

  const PermutationDomain& domain_;
  std::vector<std::uint8_t> bytes_;
  std::vector<std::size_t> orbits_;  // positions with the same number exchange their bytes
  // By input: each position that decides it alone, or two that decide it together.
  std::vector<std::vector<InputTable>> tables_;
};

}  // namespace tandem
