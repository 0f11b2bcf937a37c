// Where the stickers of a cube are and how they move, for cubes of 2 and of 3 layers.
//
// Stickers are numbered face by face, in the order U R F D L B, each row by row as seen from
// outside (U with the back at the top, D with the front at the top).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tandem/permutation.h"

namespace tandem::cube {

inline constexpr std::string_view kFaces = "URFDLB";

inline int StickersPerFace(int size) { return size * size; }
inline int NumStickers(int size) { return 6 * size * size; }

/// x points right, y up, z at the viewer.
struct Vector {
  int x, y, z;
  bool operator==(const Vector&) const = default;
};

int Dot(Vector a, Vector b);
Vector Cross(Vector a, Vector b);

/// A sticker: the small cube it is on, each coordinate from -1 to 1, and the way it faces.
struct Sticker {
  Vector cube, out;
  bool operator==(const Sticker&) const = default;
};

/// By number.
std::vector<Sticker> Stickers(int size);

/// The colour of each sticker of the solved cube: the number of its face.
std::vector<std::uint8_t> Solved(int size);

/// The names of the moves of these faces: "U" and "U'", with half turns also "U2", for each.
std::vector<std::string> MoveNames(std::string_view faces, bool half_turns);

/// For each move, such as "U", "U2" or "U'", what it does.
std::vector<Permutation> Turns(int size, const std::vector<std::string>& moves);

/// The 24 ways to take the whole cube into another position, of which one changes nothing.
std::vector<Permutation> Rotations(int size);

}  // namespace tandem::cube
