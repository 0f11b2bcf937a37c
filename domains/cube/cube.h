// What the cubes of 2 and of 3 layers share: the notation of states, and drawing.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cube/pieces.h"
#include "tandem/permutation.h"
#include "tandem/registry.h"

namespace tandem::cube {

/// What the network reads of a cube.
enum class Input {
  kStickers,  ///< the colour of each sticker: what other systems' networks read
  kPieces,    ///< for each place, which piece is there and how it is turned: what a network would
              ///< have to work out of the stickers first, and so it learns several times as fast
};

/// What counts as one move.
enum class Metric { kQuarterTurns, kHalfTurns };

/// The parameter `input` of a cube, and its values.
DomainParameter InputParameter();
std::optional<Input> ParseInput(const std::string& argument);

/// A state is the colour of each sticker, one byte each, in the order of stickers.h. The six
/// colours are named after the face they are on when the cube is solved.
class Cube : public PermutationDomain {
 public:
  void Encode(ConstRows states, Rows inputs) const override;

  std::string FormatState(std::span<const std::uint8_t> state) const override;

  /// The unfolded cube: U on top, L F R B in a row, D below.
  Picture Draw(std::span<const std::uint8_t> state) const override;

 protected:
  /// `spec.action_names` are as MoveNames makes them, `spec.name` the cube's without its input.
  Cube(const DomainSpec& spec, int size, Input input);

  const Pieces& pieces() const { return pieces_; }

  /// Reads a colour for each sticker. Throws InputError unless each colour comes as often as it
  /// should.
  void ReadColours(std::string_view text, std::span<std::uint8_t> state) const;

  /// How `state` reads when the whole cube is held so that each of `stickers` has its solved
  /// colour;
  /// "" where there is no such way to hold it.
  std::string HeldSo(std::span<const std::uint8_t> state,
                     std::span<const std::uint8_t> stickers) const;

 private:
  const int size_;
  const Input input_;
  const std::vector<std::uint8_t> solved_;
  const Pieces pieces_;
};

}  // namespace tandem::cube
