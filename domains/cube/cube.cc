#include "cube/cube.h"

#include <algorithm>
#include <array>
#include <utility>

#include "tandem/error.h"
#include "tandem/state_text.h"

namespace tandem::cube {
namespace {

// The usual colours of the faces U R F D L B.
constexpr std::array<std::int32_t, 6> kPalette = {0xf8f8f8, 0xc41e3a, 0x009e60,
                                                  0xffd500, 0xff7f27, 0x1f5fd0};

// The position of a face in the unfolded cube, in faces to the right and down.
constexpr std::array<std::array<int, 2>, 6> kUnfolded = {
    {{1, 0}, {2, 1}, {1, 1}, {1, 2}, {0, 1}, {3, 1}}};

// The letter of a colour; '?' for a byte that is not a colour.
char LetterOf(std::uint8_t colour) { return colour < kFaces.size() ? kFaces[colour] : '?'; }

DomainSpec WithInput(DomainSpec spec, int size, Input input) {
  if (input == Input::kStickers) return spec;
  const Pieces pieces(size);
  spec.name += input == Input::kPieces ? ":pieces" : ":pairs";
  spec.input = {.positions = pieces.NumPlaces(), .depth = Pieces::kPlacements};
  if (input == Input::kPairs) spec.input.positions += Pairs(pieces).Num();
  return spec;
}

}  // namespace

DomainParameter InputParameter() {
  return {.key = "input",
          .meaning =
              "the network's input: the colour of each sticker, the piece in each place, or "
              "also how neighbouring pieces lie relative to each other",
          .expected = "stickers, pieces or pairs",
          .default_value = "stickers"};
}

std::optional<Input> ParseInput(const std::string& argument) {
  if (argument == "stickers") return Input::kStickers;
  if (argument == "pieces") return Input::kPieces;
  if (argument == "pairs") return Input::kPairs;
  return std::nullopt;
}

Cube::Cube(const DomainSpec& spec, int size, Input input)
    : PermutationDomain(WithInput(spec, size, input), Solved(size), Turns(size, spec.action_names)),
      size_(size),
      input_(input),
      solved_(Solved(size)),
      pieces_(size),
      pairs_(input == Input::kPairs ? std::optional<Pairs>(pieces_) : std::nullopt) {}

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
    throw InputError(std::string("colour ") + kFaces[face] + " is on " +
                     std::to_string(count[face]) + " facelets, expected " +
                     std::to_string(StickersPerFace(size_)));
  }
}

std::string Cube::TextIfRotated(std::span<const std::uint8_t> state,
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
  const auto places = static_cast<std::size_t>(pieces_.NumPlaces());
  for (std::size_t i = 0; i < states.size(); ++i) {
    pieces_.WritePlacements(states[i], inputs[i]);
    if (pairs_) pairs_->Write(inputs[i].first(places), inputs[i].subspan(places));
  }
}

std::string Cube::FormatState(std::span<const std::uint8_t> state) const {
  std::string text;
  for (const std::uint8_t colour : state) text += LetterOf(colour);
  return text;
}

Picture Cube::Draw(std::span<const std::uint8_t> state) const {
  // The gap between faces: in a terminal a space between columns of faces, none between rows.
  constexpr float kGapAcross = 0.5F;
  constexpr float kGapDown = 0.2F;
  Picture picture;
  for (std::size_t i = 0; i < state.size(); ++i) {
    const auto face = i / static_cast<std::size_t>(StickersPerFace(size_));
    const int on_face = static_cast<int>(i) % StickersPerFace(size_);
    const auto [right, down] = kUnfolded[face];
    const int row = on_face / size_;
    const float left = static_cast<float>(right) * (static_cast<float>(size_) + kGapAcross);
    const float top = static_cast<float>(down) * (static_cast<float>(size_) + kGapDown);
    const bool is_colour = state[i] < kPalette.size();
    picture.cells.push_back({.x = left + static_cast<float>(on_face % size_),
                             .y = top + static_cast<float>(row),
                             .text = std::string(1, LetterOf(state[i])),
                             .colour = is_colour ? kPalette[state[i]] : Cell::kPlain});
  }
  return picture;
}

}  // namespace tandem::cube
