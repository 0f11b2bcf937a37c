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

 private:
  std::vector<Place> corners_;
  std::vector<Place> edges_;  // none where there are 2 layers
};

}  // namespace tandem::cube
