// The corners and edges of a cube, and whether turns can bring them where they are.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace tandem::cube {

/// A place for a corner or an edge, named after the piece that is there when the cube is solved.
struct Place {
  std::string name;                    ///< "URF": the faces of its stickers, in their order
  std::vector<std::uint8_t> stickers;  ///< a corner's clockwise as seen from outside, U or D first;
                                       ///< an edge's U or D first, else F or B
  std::vector<std::uint8_t> colours;   ///< of these stickers when the cube is solved
};

/// The pieces of a cube of 2 or 3 layers. Immutable.
class Pieces {
 public:
  explicit Pieces(int size);

  /// Throws InputError if no turns reach this cube from the solved one: a piece is none, stands
  /// twice, is flipped or twisted, or two are swapped. The message says what to look for. Requires
  /// as many stickers of each colour as the solved cube has, and centres in their places.
  void CheckReachable(std::span<const std::uint8_t> state) const;

  /// Places for pieces.
  int NumPlaces() const { return static_cast<int>(corners_.size() + edges_.size()); }

  /// Writes which piece is in each place, and how it is turned there, as one number below
  /// kPlacings. Requires a state that CheckReachable accepts.
  void WritePlacings(std::span<const std::uint8_t> state, std::span<std::uint8_t> placings) const;

  /// 8 corners turned in 3 ways, or 12 edges in 2.
  static constexpr int kPlacings = 24;

 private:
  std::vector<Place> corners_;
  std::vector<Place> edges_;  // none where there are 2 layers

  // For WritePlacings: the stickers to look at, place after place, and the number of each sequence
  // of colours that they can show, read as a number in base 6.
  std::vector<std::uint8_t> corner_stickers_, edge_stickers_;
  std::vector<std::uint8_t> corner_placings_, edge_placings_;
};

}  // namespace tandem::cube
