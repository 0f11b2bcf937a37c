// The corners and edges of a cube with 2 or 3 layers, and how neighbouring ones lie relative to
// each other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace tandem::cube {

/// Place is a place for a corner or an edge. It is named after the piece that is there when the
/// cube is solved.
struct Place {
  std::string name;  ///< "URF": the faces of its stickers, in the order of `stickers`
  /// Stickers of a corner are clockwise as seen from outside, starting with U or D. Those of an
  /// edge start with U or D if it has one, else with F or B.
  std::vector<std::uint8_t> stickers;
  std::vector<std::uint8_t> colours;  ///< of `stickers` when the cube is solved
};

/// Pieces holds the places of a cube with 2 or 3 layers. Immutable.
class Pieces {
 public:
  explicit Pieces(int size);

  /// Throws InputError if no turns lead from the solved cube to this one: if a piece does not exist
  /// or occurs twice, if one is flipped or twisted, or if two are swapped. The message says what to
  /// look for. Requires as many stickers of each colour as on the solved cube, and centres in their
  /// places.
  void CheckReachable(std::span<const std::uint8_t> state) const;

  /// The places of corners and of edges. With 2 layers there are no edges.
  const std::vector<Place>& corners() const { return corners_; }
  const std::vector<Place>& edges() const { return edges_; }

  /// The number of places.
  int NumPlaces() const { return static_cast<int>(corners_.size() + edges_.size()); }

  /// Writes for each place, corners first, which piece is there and how it is turned, as one number
  /// below kPlacements. Requires a state that CheckReachable accepts. For other bytes it writes
  /// some numbers up to kNoPlacement.
  void WritePlacements(std::span<const std::uint8_t> state,
                       std::span<std::uint8_t> placements) const;

  /// 8 corners turned in 3 ways each, or 12 edges in 2.
  static constexpr int kPlacements = 24;

  /// Written for a place that shows no piece.
  static constexpr std::uint8_t kNoPlacement = kPlacements;

  /// The colours that a place shows, in the order of its stickers, if it holds `placement`. `kind`
  /// is corners() or edges().
  static std::vector<std::uint8_t> Shown(const std::vector<Place>& kind, std::size_t placement);

  /// The placement that shows these colours: the inverse of Shown. Three are those of a corner, two
  /// those of an edge.
  std::uint8_t PlacementOf(std::span<const std::uint8_t> colours) const;

 private:
  std::vector<Place> corners_;
  std::vector<Place> edges_;  // empty if there are 2 layers

  // For WritePlacements: the stickers to read, place by place, and for each sequence of bytes that
  // they can have, read as a number in base 6, the number to write.
  std::vector<std::uint8_t> corner_stickers_, edge_stickers_;
  std::vector<std::uint8_t> corner_placings_, edge_placings_;
};

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
