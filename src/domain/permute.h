// Permutes the bytes of many rows at once. Rubik's Cube and similar puzzles spend most of their
// time here.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <string_view>
#include <vector>

#include "tandem/domain.h"
#include "tandem/permutation.h"

namespace tandem {

/// The most positions of a permutation, which bytes can number.
inline constexpr std::size_t kMaxPositions = 256;

/// PermuteWith is the method that permutes rows. By default a table uses the fastest one that the
/// processor supports.
enum class PermuteWith {
  kBytes,   ///< moves single bytes, only those that change: any processor, rows of any length
  kAvx2,    ///< shuffles of 16 bytes, for rows of 32 bytes or more
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

  /// The position that each byte comes from.
  std::span<const std::uint8_t> sources(Action action) const {
    return {indices_.data() + action * stride_, positions_};
  }

  /// The methods that this processor supports for rows of `positions` bytes, slowest first.
  static std::vector<PermuteWith> Available(std::size_t positions);
  static PermuteWith Best(std::size_t positions) { return Available(positions).back(); }

 private:
  // Only the positions that an action changes: a quarter turn moves 20 of a cube's 54 stickers.
  struct ByteMove {
    std::uint8_t to;
    std::uint8_t from;
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

  std::size_t positions_;
  std::size_t num_actions_;
  PermuteWith with_;
  std::vector<std::vector<ByteMove>> moves_;  // by action, for kBytes
  std::vector<Shuffle> shuffles_;             // for kAvx2
  std::vector<std::size_t> first_shuffle_;    // by action; the last element is the end
  std::size_t stride_;                        // bytes per action in indices_
  // By action: the position that each byte comes from. There is a margin at the end, because
  // kAvx512 reads 64 bytes at a time.
  std::vector<std::uint8_t> indices_;
};

/// DisjointSets divides the numbers below `size`, at most 2^32, into sets. At first, each is in a
/// set of its own.
class DisjointSets {
 public:
  explicit DisjointSets(std::size_t size) : parent_(size) {
    std::iota(parent_.begin(), parent_.end(), 0U);
  }

  /// Joins the sets of two numbers.
  void Join(std::size_t a, std::size_t b) { parent_[Find(a)] = Find(b); }

  /// Returns the number that stands for the set of `i`, until the next Join.
  std::uint32_t Find(std::size_t i) {
    while (parent_[i] != i) i = parent_[i] = parent_[parent_[i]];
    return static_cast<std::uint32_t>(i);
  }

  /// Returns the number of elements of each set, at the index that Find returns.
  std::vector<std::size_t> Sizes() {
    std::vector<std::size_t> sizes(parent_.size());
    for (std::size_t i = 0; i < parent_.size(); ++i) ++sizes[Find(i)];
    return sizes;
  }

 private:
  std::vector<std::uint32_t> parent_;
};

}  // namespace tandem
