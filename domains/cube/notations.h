// The notations of other programs for cubes with 3 layers.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tandem::cube {

/// Notation is a way to write a state.
///
/// The other programs order the faces U D L R B F. Within a face they number the stickers column by
/// column from the left, each column from the bottom, as seen from outside, so the rows of a face
/// are 2 5 8 / 1 4 7 / 0 3 6. Each face is seen with the same side up as in geometry.h.
enum class Notation : std::uint8_t {
  kFacelets,   ///< Tandem: 54 letters, faces in the order U R F D L B
  kDeepCubeA,  ///< 54 numbers: for each place, the number 0 to 53 of the sticker that is there
  kDeepXube,   ///< 54 numbers: for each place, the number 0 to 5 of the colour that is there
};

/// Rewrites a state in another notation. Throws InputError that says what is wrong if no turns lead
/// from the state to the solved cube. If that speaks of facelets, it has the state as facelets too.
std::string Rewrite(std::string_view state, Notation from, Notation to);

}  // namespace tandem::cube
