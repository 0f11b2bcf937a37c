// How neighbouring pieces of a cube lie relative to each other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "cube/pieces.h"

namespace tandem::cube {

/// Pairs describes each corner together with each edge or corner next to it: which piece the second
/// would be, and how turned, if the cube were held so that the first shows its solved colours. The
/// numbers are the same for two pieces that belong together wherever the two are, which a network
/// could otherwise learn only place by place. Immutable.
class Pairs {
 public:
  explicit Pairs(const Pieces& pieces);

  /// The number of pairs.
  int Num() const { return static_cast<int>(pairs_.size()); }

  /// Writes for each pair the placement of its second piece, as seen from the first, as a number
  /// below Pieces::kPlacements. `placements` comes from Pieces::WritePlacements. It writes any
  /// number below that for a pair with Pieces::kNoPlacement.
  void Write(std::span<const std::uint8_t> placements, std::span<std::uint8_t> relative) const;

 private:
  // Two places, by their numbers in `placements`, and where the pair's table begins.
  struct Pair {
    std::size_t first, second, table;
  };

  void AddPairs(const Pieces& pieces, std::size_t first);
  void AddTable(const Pieces& pieces, const Place& first, const std::vector<Place>& kind);

  std::vector<Pair> pairs_;
  // Placements as seen from the first piece, by its own placement and that of the second. The pairs
  // of a corner with edges have one table in common, and those with corners another.
  std::vector<std::uint8_t> tables_;
};

}  // namespace tandem::cube
