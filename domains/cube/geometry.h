// The geometry of a cube with 2 or 3 layers: its stickers and its turns.
//
// Stickers are numbered face by face, in the order U R F D L B, each row by row as seen from
// outside (U with the back at the top, D with the front at the top).
#pragma once

#include <cstdint>
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

inline int Dot(Vector a, Vector b) { return a.x * b.x + a.y * b.y + a.z * b.z; }

inline Vector Cross(Vector a, Vector b) {
  return {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}

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

}  // namespace tandem::cube
