// Permutes the bytes of many rows at once. Rubik's Cube and similar puzzles spend most of their
// time here.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "tandem/domain.h"
#include "tandem/permutation.h"

namespace tandem {

/// The most positions of a permutation.
inline constexpr std::size_t kMaxPositions = 65'536;

/// The most positions that bytes can number. Vector instructions and devices permute no more.
inline constexpr std::size_t kMaxBytePositions = 256;

/// PermuteWith is the method that permutes rows. By default a table uses the fastest one that the
/// processor supports.
enum class PermuteWith {
  kBytes,   ///< moves single bytes, only those that change: any processor, rows of any length
  kAvx2,    ///< shuffles of 16 bytes, for rows of 32 to kMaxBytePositions bytes
  kAvx512,  ///< shuffles of whole rows, for 16 bytes or more: AVX-512 with VBMI
};

/// PermutationTable holds the permutations of a puzzle in the form that the processor needs. It is
/// immutable; any number of threads may use it at once.
class PermutationTable {
 public:
  /// All `permutations` have the same number of positions, 1 to kMaxPositions. `with` must be one
  /// of Available(positions).
  PermutationTable(const std::vector<Permutation>& permutations, PermuteWith with);
  explicit PermutationTable(const std::vector<Permutation>& permutations)
      : PermutationTable(permutations, Best(permutations.front().size())) {}

  /// Do what Domain::Apply and Domain::Expand do.
  void Apply(Rows states, std::span<const Action> actions) const;
  void Expand(ConstRows states, Rows children) const;

  std::size_t positions() const { return positions_; }
  std::size_t num_actions() const { return num_actions_; }
  const std::vector<Permutation>& permutations() const { return permutations_; }

  /// The position that each byte comes from.
  std::span<const std::uint16_t> sources(Action action) const { return permutations_[action]; }

  /// The methods that this processor supports for rows of `positions` bytes, slowest first.
  static std::vector<PermuteWith> Available(std::size_t positions);
  static PermuteWith Best(std::size_t positions) { return Available(positions).back(); }

 private:
  // Only the positions that an action changes: a quarter turn moves 20 of a cube's 54 stickers.
  struct ByteMove {
    std::uint16_t to;
    std::uint16_t from;
  };

  // Moves bytes from 16 bytes of the row to 32 bytes of the result.
  struct Shuffle {
    std::uint8_t in;   // offset of the 16 bytes
    std::uint8_t out;  // offset of the 32 bytes
    bool first;        // whether it is the first shuffle with this `out`
    bool last;         // whether it is the last shuffle with this `out`
    // For each byte of the result, its index in the 16 bytes, or 0x80 if it is not among them.
    alignas(32) std::array<std::uint8_t, 32> source;
  };

  void MakeShuffles(const Permutation& permutation);
  void ApplyBytes(std::uint8_t* row, Action action) const;
  void ShuffleRow(const std::uint8_t* from, std::uint8_t* to, Action action) const;

  std::vector<Permutation> permutations_;
  std::size_t positions_;
  std::size_t num_actions_;
  PermuteWith with_;
  std::vector<std::vector<ByteMove>> moves_;  // by action, for kBytes
  std::vector<Shuffle> shuffles_;             // for kAvx2
  std::vector<std::size_t> first_shuffle_;    // by action; the last element is the end
  std::size_t stride_;                        // bytes per action in indices_
  // For kAvx512, by action: the position that each byte comes from. There is a margin at the end,
  // because 64 bytes are read at a time.
  std::vector<std::uint8_t> indices_;
};

}  // namespace tandem
