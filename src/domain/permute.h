// Permutes the bytes of many rows: what Rubik's Cube and its kin spend their time on.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "tandem/domain.h"
#include "tandem/permutation.h"

namespace tandem {

/// How rows are permuted. The fastest that the processor can is chosen when a table is made.
enum class PermuteWith {
  kBytes,   ///< byte by byte, only those that change: any processor, and short rows
  kAvx2,    ///< shuffles of 16 bytes, for rows of 32 bytes or more
  kAvx512,  ///< shuffles of whole rows, for 16 bytes or more: AVX-512 with VBMI
};

/// The permutations of a puzzle, in the form that the processor wants. Immutable; any number of
/// threads may use it at once.
class PermutationTable {
 public:
  /// Each of `permutations` has the same 1 to 256 positions. `with` must be among Available().
  PermutationTable(const std::vector<Permutation>& permutations, PermuteWith with);
  explicit PermutationTable(const std::vector<Permutation>& permutations)
      : PermutationTable(permutations, Best(permutations.front().size())) {}

  /// As Domain::Apply and Domain::Expand.
  void Apply(Rows states, std::span<const Action> actions) const;
  void Expand(ConstRows states, Rows children) const;

  std::size_t positions() const { return positions_; }
  std::size_t num_actions() const { return num_actions_; }

  /// The position that each byte comes from.
  std::span<const std::uint8_t> sources(Action action) const {
    return {indices_.data() + action * stride_, positions_};
  }

  /// What this processor can do with rows of so many bytes, the slowest first.
  static std::vector<PermuteWith> Available(std::size_t positions);
  static PermuteWith Best(std::size_t positions) { return Available(positions).back(); }

 private:
  // Only the positions that an action changes: a quarter turn moves 20 of a cube's 54 stickers.
  struct ByteMove {
    std::uint8_t to;
    std::uint8_t from;
  };

  // From 16 bytes of the row, those that belong into 32 bytes of the result.
  struct Shuffle {
    std::uint8_t in;                                  // where the 16 bytes begin
    std::uint8_t out;                                 // where the 32 bytes begin
    bool first;                                       // of those with this `out`
    bool last;                                        // of those with this `out`
    alignas(32) std::array<std::uint8_t, 32> source;  // which of the 16; 0x80 for none
  };

  void MakeShuffles(const Permutation& permutation);
  void ApplyBytes(std::uint8_t* row, Action action) const;
  void ShuffleRow(const std::uint8_t* from, std::uint8_t* to, Action action) const;

  std::size_t positions_;
  std::size_t num_actions_;
  PermuteWith with_;
  std::vector<std::vector<ByteMove>> moves_;  // by action, for kBytes
  std::vector<Shuffle> shuffles_;             // for kAvx2
  std::vector<std::size_t> first_shuffle_;    // by action, and the end
  std::size_t stride_;                        // bytes of an action's indices, for kAvx512
  std::vector<std::uint8_t> indices_;         // by action: where each byte comes from; a margin at
                                              // the end, since they are read 64 at a time
};

}  // namespace tandem
