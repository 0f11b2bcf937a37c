// Rubik's Cube, 3x3x3, in the quarter-turn metric.
//
// A state is 54 stickers, one byte each, the number of its colour; faces come in the order
// U R F D L B, each row by row as seen from outside (U with the back at the top, D with the front
// at the top). The six colours are named after the face they are on when the cube is solved.
#include <algorithm>
#include <array>
#include <memory>
#include <string>

#include "tandem/error.h"
#include "tandem/permutation.h"
#include "tandem/registry.h"

namespace tandem {
namespace {

constexpr std::string_view kFaces = "URFDLB";
constexpr int kStickersPerFace = 9;
constexpr int kStickers = 54;

// x points right, y up, z at the viewer.
struct Vector {
  int x, y, z;
  bool operator==(const Vector&) const = default;
};

constexpr int Dot(Vector a, Vector b) { return a.x * b.x + a.y * b.y + a.z * b.z; }

constexpr Vector Cross(Vector a, Vector b) {
  return {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}

constexpr Vector Add(Vector a, Vector b) { return {a.x + b.x, a.y + b.y, a.z + b.z}; }

constexpr Vector Scale(Vector a, int by) { return {a.x * by, a.y * by, a.z * by}; }

// A quarter turn about `axis`, clockwise as seen from the tip of `axis`.
constexpr Vector TurnClockwise(Vector v, Vector axis) {
  return Add(Scale(axis, Dot(axis, v)), Cross(v, axis));
}

// A face: the way out of it, and the ways that its columns and rows run.
struct Face {
  Vector out, column, row;
};

constexpr std::array<Face, 6> kFrames = {{
    {.out = {0, 1, 0}, .column = {1, 0, 0}, .row = {0, 0, 1}},     // U
    {.out = {1, 0, 0}, .column = {0, 0, -1}, .row = {0, -1, 0}},   // R
    {.out = {0, 0, 1}, .column = {1, 0, 0}, .row = {0, -1, 0}},    // F
    {.out = {0, -1, 0}, .column = {1, 0, 0}, .row = {0, 0, -1}},   // D
    {.out = {-1, 0, 0}, .column = {0, 0, 1}, .row = {0, -1, 0}},   // L
    {.out = {0, 0, -1}, .column = {-1, 0, 0}, .row = {0, -1, 0}},  // B
}};

// A sticker: the small cube it is on, and the way it faces.
struct Sticker {
  Vector cube, out;
  bool operator==(const Sticker&) const = default;
};

constexpr std::array<Sticker, kStickers> MakeStickers() {
  std::array<Sticker, kStickers> stickers{};
  for (int i = 0; i < kStickers; ++i) {
    const Face& face = kFrames[i / kStickersPerFace];
    const Vector down = Scale(face.row, i % kStickersPerFace / 3 - 1);
    const Vector right = Scale(face.column, i % 3 - 1);
    stickers[i] = {.cube = Add(face.out, Add(down, right)), .out = face.out};
  }
  return stickers;
}

Permutation Clockwise(char face) {
  static constexpr std::array<Sticker, kStickers> kAll = MakeStickers();
  const Vector axis = kFrames[kFaces.find(face)].out;
  Permutation permutation(kStickers);
  for (int from = 0; from < kStickers; ++from) {
    Sticker sticker = kAll[from];
    if (Dot(sticker.cube, axis) == 1) {
      sticker = {TurnClockwise(sticker.cube, axis), TurnClockwise(sticker.out, axis)};
    }
    const auto to = std::ranges::find(kAll, sticker) - kAll.begin();
    permutation[to] = static_cast<std::uint8_t>(from);
  }
  return permutation;
}

// For messages: half a character of UTF-8 is not one that a terminal or JSON could show.
std::string Quoted(char letter) {
  const auto byte = static_cast<unsigned char>(letter);
  if (byte >= 0x20 && byte < 0x7f) return std::string("'") + letter + "'";
  return "the byte " + std::to_string(byte);
}

std::vector<std::uint8_t> SolvedCube() {
  std::vector<std::uint8_t> solved(kStickers);
  for (int i = 0; i < kStickers; ++i) solved[i] = static_cast<std::uint8_t>(i / kStickersPerFace);
  return solved;
}

DomainSpec Spec() {
  return {.name = "cube3",
          .summary =
              "Rubik's Cube 3x3x3, quarter turns; a state is 54 facelets, faces in the "
              "order URFDLB",
          .action_names = {"U", "U'", "D", "D'", "L", "L'", "R", "R'", "B", "B'", "F", "F'"}};
}

std::vector<Permutation> QuarterTurns() {
  std::vector<Permutation> turns;
  for (const std::string& name : Spec().action_names) {
    const Permutation clockwise = Clockwise(name[0]);
    turns.push_back(name.size() == 1 ? clockwise : Inverse(clockwise));
  }
  return turns;
}

class Cube3 final : public PermutationDomain {
 public:
  Cube3() : PermutationDomain(Spec(), SolvedCube(), QuarterTurns()) {}

  void ParseState(std::string_view text, std::span<std::uint8_t> state) const override {
    if (text.size() != kStickers) {
      throw InputError("a cube has 54 facelets, found " + std::to_string(text.size()));
    }
    std::array<int, 6> count{};
    for (int i = 0; i < kStickers; ++i) {
      const std::size_t colour = kFaces.find(text[i]);
      if (colour == std::string_view::npos) {
        throw InputError("facelet " + std::to_string(i + 1) + " is " + Quoted(text[i]) +
                         ", expected one of U R F D L B");
      }
      state[i] = static_cast<std::uint8_t>(colour);
      ++count[colour];
    }
    for (int face = 0; face < 6; ++face) {
      if (count[face] != kStickersPerFace) {
        throw InputError(std::string("colour ") + kFaces[face] + " stands on " +
                         std::to_string(count[face]) + " facelets, expected 9");
      }
      const int centre = face * kStickersPerFace + 4;
      if (state[centre] != face) {
        throw InputError(std::string("the centre of face ") + kFaces[face] + " is " + text[centre] +
                         ", expected " + kFaces[face] +
                         ": hold the cube so that each centre is on its own face");
      }
    }
  }

  std::string FormatState(std::span<const std::uint8_t> state) const override {
    std::string text;
    for (const std::uint8_t colour : state) text += kFaces[colour];
    return text;
  }

  // The unfolded cube: U on top, L F R B in a row, D below.
  std::string Draw(std::span<const std::uint8_t> state, bool colour) const override {
    const auto row_of = [&](char face, int row) {
      std::string text;
      for (int column = 0; column < 3; ++column) {
        const std::size_t at = kFaces.find(face) * kStickersPerFace + 3 * row + column;
        text += DrawSticker(state[at], colour);
      }
      return text;
    };
    const std::string margin(7, ' ');
    std::string picture;
    for (int row = 0; row < 3; ++row) picture += margin + row_of('U', row) + "\n";
    for (int row = 0; row < 3; ++row) {
      for (const char face : std::string_view("LFRB")) picture += row_of(face, row) + " ";
      picture.back() = '\n';
    }
    for (int row = 0; row < 3; ++row) picture += margin + row_of('D', row) + "\n";
    return picture;
  }

 private:
  static std::string DrawSticker(std::uint8_t colour, bool in_colour) {
    // The usual colours of the faces U R F D L B, from the 256-colour palette.
    static constexpr std::array<int, 6> kPalette = {231, 160, 34, 226, 208, 27};
    const std::string letter{kFaces[colour]};
    if (!in_colour) return letter + " ";
    return "\x1b[48;5;" + std::to_string(kPalette[colour]) + "m\x1b[38;5;16m" + letter + " \x1b[0m";
  }
};

TANDEM_REGISTER_DOMAIN(cube3, [] { return std::make_unique<const Cube3>(); });

}  // namespace
}  // namespace tandem
