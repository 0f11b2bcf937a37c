// The geometry of a cube with 2 or 3 layers: its stickers, its turns, and its corners and edges.
//
// Stickers are numbered face by face, in the order U R F D L B, each row by row as seen from
// outside (U with the back at the top, D with the front at the top).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tandem/permutation.h"

namespace tandem::cube {

inline constexpr std::string_view kFaces = "URFDLB";

inline int StickersPerFace(int size) { return size * size; }
inline int NumStickers(int size) { return 6 * size * size; }

/// Coordinates: x points right, y up, z towards the viewer.
struct Vector {
  int x, y, z;
  bool operator==(const Vector&) const = default;
};

/// Sticker gives the small cube that a sticker is on, each coordinate from -1 to 1, and the
/// direction that it faces.
struct Sticker {
  Vector cube, out;
  bool operator==(const Sticker&) const = default;
};

/// The stickers, by number.
std::vector<Sticker> Stickers(int size);

/// The colour of each sticker of the solved cube: the number of its face.
std::vector<std::uint8_t> Solved(int size);

/// The names of the moves of these faces: for each face "U", "U'" and, with half turns, "U2".
std::vector<std::string> MoveNames(std::string_view faces, bool half_turns);

/// The permutation of each move, such as "U", "U2" or "U'".
std::vector<Permutation> Turns(int size, const std::vector<std::string>& moves);

/// The 24 rotations of the whole cube, including the one that changes nothing.
std::vector<Permutation> Rotations(int size);

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
  /// below kPlacements. Requires a state that CheckReachable accepts.
  void WritePlacements(std::span<const std::uint8_t> state,
                       std::span<std::uint8_t> placements) const;

  /// 8 corners turned in 3 ways each, or 12 edges in 2.
  static constexpr int kPlacements = 24;

  /// The colours that a place shows, in the order of its stickers, if it holds `placement`. `kind`
  /// is corners() or edges().
  static std::vector<std::uint8_t> Shown(const std::vector<Place>& kind, std::size_t placement);

  /// The placement that shows these colours: the inverse of Shown. Three are those of a corner, two
  /// those of an edge.
  std::uint8_t PlacementOf(std::span<const std::uint8_t> colours) const;

 private:
  std::vector<Place> corners_;
  std::vector<Place> edges_;  // empty if there are 2 layers

  // For WritePlacements: the stickers to read, place by place, and for each sequence of colours
  // that they can show, read as a number in base 6, the number to write.
  std::vector<std::uint8_t> corner_stickers_, edge_stickers_;
  std::vector<std::uint8_t> corner_placings_, edge_placings_;
};

}  // namespace tandem::cube
