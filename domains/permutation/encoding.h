// The bytes of a state, and how a network reads the pieces.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "tandem/permutation.h"

namespace tandem {

/// LabelBytes writes the labels of a puzzle, which are numbers, as the bytes of a state: one for
/// each position or, if there are more than 256 labels, two digits of about the same range.
class LabelBytes {
 public:
  /// Read for two bytes that are no digits of a label.
  static constexpr std::uint16_t kNoLabel = 65'535;

  explicit LabelBytes(std::size_t num_labels);

  std::size_t per_label() const { return base_ == 0 ? 1 : 2; }

  std::vector<std::uint8_t> Write(std::span<const std::uint16_t> labels) const;
  std::vector<std::uint16_t> Read(std::span<const std::uint8_t> state) const;

  /// Returns the permutations of the bytes, from those of the positions.
  std::vector<Permutation> OfBytes(const std::vector<Permutation>& permutations) const;

 private:
  std::size_t base_ = 0;  // of the digits; 0 if there is one byte for each label
};

/// PieceInput is an input of networks: a number for each place of a piece, which says which piece
/// is there and how it is turned. A network would otherwise have to derive this from the labels.
/// The numbers determine the state. Immutable.
class PieceInput {
 public:
  /// `orbits` come from FindOrbits, but a place has only the positions of one piece. Throws
  /// InputError if no piece has two positions, or if too many pieces come to one place.
  PieceInput(const std::vector<std::vector<Place>>& orbits, std::span<const std::uint16_t> goal);

  InputLayout layout() const;

  /// Writes the input for a state that moves reach, and numbers below layout().depth for any bytes.
  void Write(std::span<const std::uint8_t> state, std::span<std::uint8_t> input) const;

 private:
  // The bytes of a place, in order, and where the search for its piece starts.
  struct Reading {
    std::size_t start;
    std::vector<std::uint16_t> bytes;
  };

  std::size_t AddNode();
  std::size_t AddPieces(const std::vector<Place>& places, std::span<const std::uint16_t> goal);

  const LabelBytes bytes_;
  int depth_ = 0;
  std::vector<Reading> readings_;
  // A tree for each orbit, 256 elements for each node: the first element of the child for a byte
  // or, for the last byte of a place, the number of the piece. Bytes of no piece lead to node 0.
  std::vector<std::uint32_t> tree_;
};

}  // namespace tandem
