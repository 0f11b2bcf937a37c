#include "cube/geometry.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

namespace tandem::cube {
namespace {

Vector Add(Vector a, Vector b) { return {a.x + b.x, a.y + b.y, a.z + b.z}; }

Vector Scale(Vector a, int by) { return {a.x * by, a.y * by, a.z * by}; }

// A quarter turn about `axis`, clockwise as seen from the tip of `axis`.
Vector TurnClockwise(Vector v, Vector axis) {
  return Add(Scale(axis, Dot(axis, v)), Cross(v, axis));
}

// A face: its outward direction, and the directions in which its columns and rows are numbered.
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

Vector Axis(char face) { return kFrames[kFaces.find(face)].out; }

// Rows and columns are numbered 0, 1, 2, or 0, 1 for cubes with 2 layers.
int Coordinate(int size, int number) { return size == 2 ? 2 * number - 1 : number - 1; }

// Turns the outer layer of `face` clockwise, or the whole cube.
Permutation Clockwise(int size, char face, bool whole_cube) {
  const std::vector<Sticker> all = Stickers(size);
  const Vector axis = Axis(face);
  Permutation permutation(all.size());
  for (std::size_t from = 0; from < all.size(); ++from) {
    Sticker sticker = all[from];
    if (whole_cube || Dot(sticker.cube, axis) == 1) {
      sticker = {TurnClockwise(sticker.cube, axis), TurnClockwise(sticker.out, axis)};
    }
    const auto to = std::ranges::find(all, sticker) - all.begin();
    permutation[static_cast<std::size_t>(to)] = static_cast<std::uint8_t>(from);
  }
  return permutation;
}

}  // namespace

std::vector<Sticker> Stickers(int size) {
  std::vector<Sticker> stickers;
  for (const Face& face : kFrames) {
    for (int i = 0; i < StickersPerFace(size); ++i) {
      const Vector down = Scale(face.row, Coordinate(size, i / size));
      const Vector right = Scale(face.column, Coordinate(size, i % size));
      stickers.push_back({.cube = Add(face.out, Add(down, right)), .out = face.out});
    }
  }
  return stickers;
}

std::vector<std::uint8_t> Solved(int size) {
  std::vector<std::uint8_t> solved;
  solved.reserve(NumStickers(size));
  for (int i = 0; i < NumStickers(size); ++i) {
    solved.push_back(static_cast<std::uint8_t>(i / StickersPerFace(size)));
  }
  return solved;
}

std::vector<std::string> MoveNames(std::string_view faces, bool half_turns) {
  std::vector<std::string> names;
  for (const char face : faces) {
    names.emplace_back(1, face);
    if (half_turns) names.push_back(std::string(1, face) + "2");
    names.push_back(std::string(1, face) + "'");
  }
  return names;
}

std::vector<Permutation> Turns(int size, const std::vector<std::string>& moves) {
  std::vector<Permutation> turns;
  for (const std::string& move : moves) {
    const Permutation clockwise = Clockwise(size, move[0], /*whole_cube=*/false);
    if (move.ends_with('2')) {
      turns.push_back(Compose(clockwise, clockwise));
    } else {
      turns.push_back(move.ends_with('\'') ? Inverse(clockwise) : clockwise);
    }
  }
  return turns;
}

std::vector<Permutation> Rotations(int size) {
  const std::array<Permutation, 2> generators = {Clockwise(size, 'U', /*whole_cube=*/true),
                                                 Clockwise(size, 'R', /*whole_cube=*/true)};
  std::vector<Permutation> all = {Compose(generators[0], Inverse(generators[0]))};
  for (std::size_t i = 0; i < all.size(); ++i) {
    for (const Permutation& turn : generators) {
      Permutation next = Compose(all[i], turn);
      if (std::ranges::find(all, next) == all.end()) all.push_back(std::move(next));
    }
  }
  return all;
}

}  // namespace tandem::cube
