// Solves Rubik's Cube in Thistlethwaite's way, knowing nothing of how Tandem turns one.
#pragma once

#include <absl/container/flat_hash_map.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "domains/cube/notations.h"

namespace tandem {

/// Which sticker stands at each position, in the numbers of DeepCubeA; or where each sticker of a
/// position comes from, when something is turned.
using Stickers54 = std::array<std::uint8_t, 54>;

/// What `first` makes of a cube and then `second`.
inline Stickers54 Then(const Stickers54& first, const Stickers54& second) {
  Stickers54 both{};
  for (std::size_t i = 0; i < 54; ++i) both[i] = first[second[i]];
  return both;
}

inline Stickers54 SolvedStickers() {
  Stickers54 solved{};
  std::iota(solved.begin(), solved.end(), std::uint8_t{0});
  return solved;
}

/// A quarter turn clockwise, a half turn ("U2") or a quarter turn back ("U'"), by the cycles in
/// which the simulator of DeepCubeA takes stickers from one position to the next.
inline Stickers54 TurnOf(std::string_view name) {
  using Cycles = std::array<std::array<std::uint8_t, 4>, 5>;
  constexpr std::string_view kFaces = "UDLRBF";
  constexpr std::array<Cycles, 6> kCycles = {{
      {{{0, 2, 8, 6}, {1, 5, 7, 3}, {20, 38, 29, 47}, {23, 41, 32, 50}, {26, 44, 35, 53}}},
      {{{9, 11, 17, 15}, {10, 14, 16, 12}, {18, 45, 27, 36}, {21, 48, 30, 39}, {24, 51, 33, 42}}},
      {{{0, 45, 9, 44}, {1, 46, 10, 43}, {2, 47, 11, 42}, {18, 20, 26, 24}, {19, 23, 25, 21}}},
      {{{6, 38, 15, 51}, {7, 37, 16, 52}, {8, 36, 17, 53}, {27, 29, 35, 33}, {28, 32, 34, 30}}},
      {{{2, 18, 15, 35}, {5, 19, 12, 34}, {8, 20, 9, 33}, {36, 38, 44, 42}, {37, 41, 43, 39}}},
      {{{0, 29, 17, 24}, {3, 28, 14, 25}, {6, 27, 11, 26}, {45, 47, 53, 51}, {46, 50, 52, 48}}},
  }};
  Stickers54 clockwise = SolvedStickers();
  for (const auto& cycle : kCycles[kFaces.find(name[0])]) {
    for (std::size_t i = 0; i < 4; ++i) clockwise[cycle[(i + 1) % 4]] = cycle[i];
  }
  const int times = name.ends_with('2') ? 2 : name.ends_with('\'') ? 3 : 1;
  Stickers54 turn = clockwise;
  for (int i = 1; i < times; ++i) turn = Then(turn, clockwise);
  return turn;
}

inline std::vector<std::string> Words(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

/// From the cubes that some turns lead to into those that only fewer turns, the next phase's, do.
/// Which of the many ways into those it takes is told by a table with an entry for each coset.
class CubePhase {
 public:
  CubePhase(const std::string& turns, const std::string& next) : names_(Words(turns)) {
    for (const std::string& name : names_) turns_.push_back(TurnOf(name));
    std::vector<Stickers54> next_turns;
    for (const std::string& name : Words(next)) next_turns.push_back(TurnOf(name));
    FindRelabellings(next_turns);
    FillTable();
  }

  /// Solves the phase: makes its turns, and appends their names to `moves`.
  void Solve(Stickers54& cube, std::vector<std::string>& moves) const {
    for (std::uint8_t turn = table_.at(KeyOf(cube)); turn != kNone; turn = table_.at(KeyOf(cube))) {
      cube = Then(cube, turns_[turn]);
      moves.push_back(names_[turn]);
    }
  }

  std::size_t NumCosets() const { return table_.size(); }

 private:
  static constexpr std::uint8_t kNone = 255;

  // Two cubes are in one coset if one becomes the other when its stickers are exchanged as some
  // turns of the next phase would. So of each edge's sticker only its orbit under these turns
  // counts; and of corners too, as long as a quarter turn is among the turns. Half turns permute
  // corners in 96 ways only, of which the least result stands for all.
  void FindRelabellings(const std::vector<Stickers54>& next_turns) {
    Stickers54 orbits = SolvedStickers();
    for (bool changed = true; changed;) {
      changed = false;
      for (const Stickers54& turn : next_turns) {
        for (std::size_t i = 0; i < 54; ++i) {
          const std::uint8_t least = std::min(orbits[i], orbits[turn[i]]);
          changed = changed || orbits[i] != least || orbits[turn[i]] != least;
          orbits[i] = orbits[turn[i]] = least;
        }
      }
    }
    const bool half_turns = std::ranges::all_of(
        next_turns, [](const Stickers54& turn) { return Then(turn, turn) == SolvedStickers(); });
    if (!half_turns) {
      relabellings_ = {orbits};
      return;
    }
    std::set<Stickers54> corner_ways = {SolvedStickers()};
    std::vector<Stickers54> found = {SolvedStickers()};
    for (std::size_t i = 0; i < found.size(); ++i) {
      for (const Stickers54& turn : next_turns) {
        Stickers54 way = Then(found[i], turn);
        for (std::size_t s = 0; s < 54; ++s) way[s] = IsCorner(s) ? way[s] : s;
        if (corner_ways.insert(way).second) found.push_back(way);
      }
    }
    for (Stickers54& way : found) {
      for (std::size_t s = 0; s < 54; ++s) way[s] = IsCorner(s) ? way[s] : orbits[s];
    }
    relabellings_ = std::move(found);
  }

  static bool IsCorner(std::size_t sticker) {
    return sticker % 9 == 0 || sticker % 9 == 2 || sticker % 9 == 6 || sticker % 9 == 8;
  }

  std::size_t KeyOf(const Stickers54& cube) const {
    Stickers54 least{};
    least.fill(255);
    for (const Stickers54& labels : relabellings_) {
      Stickers54 shown{};
      for (std::size_t i = 0; i < 54; ++i) shown[i] = labels[cube[i]];
      least = std::min(least, shown);
    }
    return absl::Hash<std::string_view>()(
        {reinterpret_cast<const char*>(least.data()), least.size()});
  }

  // Breadth first from the solved cube; each coset remembers the turn that leads back.
  void FillTable() {
    std::vector<Stickers54> cubes = {SolvedStickers()};
    table_[KeyOf(cubes[0])] = kNone;
    for (std::size_t i = 0; i < cubes.size(); ++i) {
      for (const Stickers54& turn : turns_) {
        const Stickers54 cube = Then(cubes[i], turn);
        const auto back = std::ranges::find(turns_, Then(turn, Then(turn, turn))) - turns_.begin();
        if (!table_.emplace(KeyOf(cube), static_cast<std::uint8_t>(back)).second) continue;
        cubes.push_back(cube);
      }
    }
  }

  const std::vector<std::string> names_;
  std::vector<Stickers54> turns_;
  std::vector<Stickers54> relabellings_;
  absl::flat_hash_map<std::size_t, std::uint8_t> table_;  // by hash
};

/// Builds its tables when it is made, which takes seconds.
class CubeSolver {
 public:
  /// Quarter turns, separated by spaces, that solve the cube; some 45 of them.
  std::string Solve(const std::string& facelets) const {
    std::istringstream numbers(
        cube::Rewrite(facelets, cube::Notation::kFacelets, cube::Notation::kDeepCubeA));
    Stickers54 cube{};
    for (std::uint8_t& sticker : cube) {
      int number = 0;
      numbers >> number;
      sticker = static_cast<std::uint8_t>(number);
    }
    std::vector<std::string> moves;
    for (const CubePhase& phase : phases_) phase.Solve(cube, moves);
    std::string text;
    for (const std::string& move : moves) {
      const std::string face = move.substr(0, 1);
      text += (move.ends_with('2') ? face + " " + face : move) + " ";
    }
    return text;
  }

  const std::array<CubePhase, 4>& phases() const { return phases_; }

 private:
  static constexpr const char* kAll = "U U' D D' L L' R R' B B' F F'";
  static constexpr const char* kEdgesUpright = "U U' D D' L L' R R' B2 F2";
  static constexpr const char* kAllUpright = "U U' D D' L2 R2 B2 F2";
  static constexpr const char* kHalfTurns = "U2 D2 L2 R2 B2 F2";

  const std::array<CubePhase, 4> phases_ = {{{kAll, kEdgesUpright},
                                             {kEdgesUpright, kAllUpright},
                                             {kAllUpright, kHalfTurns},
                                             {kHalfTurns, ""}}};
};

}  // namespace tandem
