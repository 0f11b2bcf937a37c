#include "cube/cube.h"

#include <algorithm>
#include <array>
#include <utility>

#include "cube/stickers.h"
#include "tandem/error.h"

namespace tandem::cube {
namespace {

// For messages: half a character of UTF-8 is not one that a terminal or JSON could show.
std::string Quoted(char letter) {
  const auto byte = static_cast<unsigned char>(letter);
  if (byte >= 0x20 && byte < 0x7f) return std::string("'") + letter + "'";
  return "the byte " + std::to_string(byte);
}

std::string DrawSticker(std::uint8_t colour, bool in_colour) {
  // The usual colours of the faces U R F D L B, from the 256-colour palette.
  static constexpr std::array<int, 6> kPalette = {231, 160, 34, 226, 208, 27};
  const std::string letter{kFaces[colour]};
  if (!in_colour) return letter + " ";
  return "\x1b[48;5;" + std::to_string(kPalette[colour]) + "m\x1b[38;5;16m" + letter + " \x1b[0m";
}

DomainSpec WithInput(DomainSpec spec, int size, Input input) {
  if (input == Input::kPieces) {
    spec.name += ":pieces";
    spec.input = {.positions = Pieces(size).NumPlaces(), .depth = Pieces::kPlacings};
  }
  return spec;
}

}  // namespace

DomainParameter InputParameter() {
  return {.key = "input",
          .meaning = "what the network reads: the colours of stickers, or the pieces in each place",
          .expected = "stickers or pieces",
          .default_value = "stickers"};
}

std::optional<Input> ParseInput(const std::string& argument) {
  if (argument == "stickers") return Input::kStickers;
  if (argument == "pieces") return Input::kPieces;
  return std::nullopt;
}

Cube::Cube(const DomainSpec& spec, int size, Input input)
    : PermutationDomain(WithInput(spec, size, input), Solved(size),
                        QuarterTurns(size, spec.action_names)),
      size_(size),
      input_(input),
      solved_(Solved(size)),
      pieces_(size) {}

void Cube::ReadColours(std::string_view text, std::span<std::uint8_t> state) const {
  if (text.size() != state.size()) {
    throw InputError((size_ == 3 ? "a cube has " : "a 2x2x2 cube has ") +
                     std::to_string(state.size()) + " facelets, found " +
                     std::to_string(text.size()));
  }
  std::array<int, 6> count{};
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::size_t colour = kFaces.find(text[i]);
    if (colour == std::string_view::npos) {
      throw InputError("facelet " + std::to_string(i + 1) + " is " + Quoted(text[i]) +
                       ", expected one of U R F D L B");
    }
    state[i] = static_cast<std::uint8_t>(colour);
    ++count[colour];
  }
  for (std::size_t face = 0; face < count.size(); ++face) {
    if (count[face] == StickersPerFace(size_)) continue;
    throw InputError(std::string("colour ") + kFaces[face] + " stands on " +
                     std::to_string(count[face]) + " facelets, expected " +
                     std::to_string(StickersPerFace(size_)));
  }
}

std::string Cube::HeldSo(std::span<const std::uint8_t> state,
                         std::span<const std::uint8_t> stickers) const {
  for (const Permutation& rotation : Rotations(size_)) {
    const auto fits = [&](std::uint8_t sticker) {
      return state[rotation[sticker]] == solved_[sticker];
    };
    if (!std::ranges::all_of(stickers, fits)) continue;
    std::string text;
    for (const std::uint8_t from : rotation) text += kFaces[state[from]];
    return text;
  }
  return "";
}

void Cube::Encode(ConstRows states, Rows inputs) const {
  if (input_ == Input::kStickers) return Domain::Encode(states, inputs);
  for (std::size_t i = 0; i < states.size(); ++i) pieces_.WritePlacings(states[i], inputs[i]);
}

std::string Cube::FormatState(std::span<const std::uint8_t> state) const {
  std::string text;
  for (const std::uint8_t colour : state) text += kFaces[colour];
  return text;
}

std::string Cube::Draw(std::span<const std::uint8_t> state, bool colour) const {
  const auto row_of = [&](char face, int row) {
    std::string text;
    for (int column = 0; column < size_; ++column) {
      const int first = static_cast<int>(kFaces.find(face)) * StickersPerFace(size_);
      const int at = first + size_ * row + column;
      text += DrawSticker(state[at], colour);
    }
    return text;
  };
  const std::string margin(2 * size_ + 1, ' ');
  std::string picture;
  for (int row = 0; row < size_; ++row) picture += margin + row_of('U', row) + "\n";
  for (int row = 0; row < size_; ++row) {
    for (const char face : std::string_view("LFRB")) picture += row_of(face, row) + " ";
    picture.back() = '\n';
  }
  for (int row = 0; row < size_; ++row) picture += margin + row_of('D', row) + "\n";
  return picture;
}

}  // namespace tandem::cube
