// The domain that the cubes with 2 and 3 layers share: inputs, notation of states, and drawing.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cube/geometry.h"
#include "cube/pieces.h"
#include "tandem/permutation.h"
#include "tandem/registry.h"

namespace tandem::cube {

/// Input selects the network's input.
enum class Input {
  kStickers,  ///< the colour of each sticker, as for the networks of other systems
  kPieces,  ///< for each place, which piece is there and how it is turned. With kStickers a network
            ///< has to derive this itself, and learns several times as slowly
  kPairs    ///< kPieces and, for each corner and each piece next to it, how the two lie relative to
            ///< each other. A network learns more from each state, but takes longer for it
};

/// Metric says which turns count as one move.
enum class Metric { kQuarterTurns, kHalfTurns };

/// The parameter `input` of a cube, and its values.
DomainParameter InputParameter();
std::optional<Input> ParseInput(const std::string& argument);

/// CubeKind is what distinguishes the cubes.
struct CubeKind {
  int size;                ///< layers
  const char* name;        ///< without its metric and its input
  const char* title;       ///< for people
  const char* turns_of;    ///< for people: " of U, R and F", or "" for all faces
  std::string_view faces;  ///< that are turned
};

/// Cube is a cube with 2 or 3 layers. A state is the colour of each sticker, one byte each, in the
/// order of geometry.h. A colour is named after the face that it is on when the cube is solved.
class Cube : public PermutationDomain {
 public:
  void Encode(ConstRows states, Rows inputs) const override;

  std::string FormatState(std::span<const std::uint8_t> state) const override;

  /// Reads moves as people write them, on any cube: half turns (R2), wide turns (r or Rw), slices
  /// (M E S) and rotations of the whole cube (x y z), with or without spaces. Gives the turns of
  /// faces that do the same to a cube that is held as before.
  std::vector<Action> ParseMoves(std::string_view moves, std::string_view start) const override;

  /// The unfolded cube: U on top, L F R B in a row, D below.
  Picture Draw(std::span<const std::uint8_t> state) const override;

 protected:
  Cube(const CubeKind& kind, Metric metric, Input input);

  const Pieces& pieces() const { return pieces_; }

  /// Reads a colour for each sticker, with or without white space between them. Letters other than
  /// those of the faces are named after the centres, if the cube has any. Throws InputError if a
  /// colour does not occur as often as on a solved cube.
  void ReadColours(std::string_view text, std::span<std::uint8_t> state) const;

  /// The text of `state` if the whole cube is rotated so that each of `stickers` has its solved
  /// colour; "" if no rotation does that.
  std::string TextIfRotated(std::span<const std::uint8_t> state,
                            std::span<const std::uint8_t> stickers) const;

 private:
  const int size_;
  const Input input_;
  const std::vector<std::uint8_t> solved_;
  const Pieces pieces_;
  const std::optional<Pairs> pairs_;  // with Input::kPairs
};

/// Makes a cube of class C, or null if `argument` is no input.
template <class C, Metric kMetric>
std::unique_ptr<const Domain> Make(const std::string& argument) {
  const std::optional<Input> input = ParseInput(argument);
  return input ? std::make_unique<const C>(kMetric, *input) : nullptr;
}

}  // namespace tandem::cube
