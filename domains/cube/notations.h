// Cubes of 3 layers as other programs write them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tandem::cube {

/// Who writes a state so.
///
/// The others number the faces U D L R B F and the stickers of each column by column from the left,
/// each column from the bottom, as seen from outside: a face reads 2 5 8 / 1 4 7 / 0 3 6. How a
/// face is held is as in stickers.h.
enum class Notation : std::uint8_t {
  kFacelets,   ///< Tandem: 54 letters, faces in the order U R F D L B
  kDeepCubeA,  ///< 54 numbers: which of the solved cube's stickers, 0 to 53, stands where
  kDeepXube,   ///< 54 numbers: which colour, 0 to 5, stands where
};

/// Rewrites a state. Throws InputError that names what is wrong unless turns lead from it to the
/// solved cube.
std::string Rewrite(std::string_view state, Notation from, Notation to);

}  // namespace tandem::cube
