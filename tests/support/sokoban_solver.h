// Solves Sokoban levels by breadth-first search. It does not use Tandem's rules, so that it can
// check them.
#pragma once

#include <absl/container/flat_hash_set.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <sstream>
#include <string>
#include <vector>

namespace tandem {

/// A level of at most 14 x 14 cells with at most 7 boxes.
class SokobanSolver {
 public:
  /// Reads a level in XSB notation.
  explicit SokobanSolver(const std::string& level) {
    std::istringstream lines(level);
    std::string line;
    for (std::size_t row = 1; std::getline(lines, line); ++row) {
      for (std::size_t column = 0; column < line.size(); ++column) {
        Place(line[column], static_cast<std::uint8_t>(row * kWidth + column + 1));
      }
    }
    for (const std::uint8_t goal : goals_) MarkUseful(goal);
  }

  /// Returns a shortest solution as steps separated by spaces, or "" after `max_positions`
  /// positions.
  std::string Solve(std::size_t max_positions) const {
    std::vector<Node> nodes = {{.position = Pack(player_, boxes_), .parent = 0, .step = 0}};
    absl::flat_hash_set<std::uint64_t> seen = {nodes[0].position};
    for (std::size_t i = 0; i < nodes.size() && nodes.size() <= max_positions; ++i) {
      for (const auto& [name, step] : kSteps) {
        const std::uint64_t next = After(nodes[i].position, step);
        if (next == kNone || !seen.insert(next).second) continue;
        nodes.push_back({.position = next, .parent = i, .step = name});
        if (IsSolved(next)) return WayTo(nodes);
      }
    }
    return "";
  }

 private:
  static constexpr int kWidth = 16;  // the level, with walls around it
  static constexpr std::uint64_t kNone = 0;
  struct Step {
    char name;
    int by;
  };
  static constexpr std::array<Step, 4> kSteps = {
      {{'u', -kWidth}, {'d', kWidth}, {'l', -1}, {'r', 1}}};

  // A position: the player's cell in the lowest byte, and above it the boxes' cells in ascending
  // order.
  struct Node {
    std::uint64_t position;
    std::size_t parent;
    char step;
  };
  using Boxes = std::vector<std::uint8_t>;

  void Place(char letter, std::uint8_t cell) {
    is_floor_[cell] = letter != '#';
    if (letter == '@' || letter == '+') player_ = cell;
    if (letter == '$' || letter == '*') boxes_.push_back(cell);
    if (letter == '.' || letter == '+' || letter == '*') goals_.push_back(cell);
  }

  // Marks the cells from which pushes can bring a box to a goal, by pulling boxes away from goals.
  void MarkUseful(int cell) {
    if (is_useful_[cell]) return;
    is_useful_[cell] = true;
    for (const Step& step : kSteps) {
      const int before = cell - step.by;
      if (is_floor_[before] && is_floor_[before - step.by]) MarkUseful(before);
    }
  }

  static std::uint64_t Pack(std::uint64_t player, Boxes boxes) {
    std::ranges::sort(boxes);
    std::uint64_t position = 0;
    for (const std::uint8_t box : boxes) position = position << 8 | box;
    return position << 8 | player;
  }

  Boxes BoxesOf(std::uint64_t position) const {
    Boxes boxes(boxes_.size());
    for (std::uint8_t& box : boxes) box = static_cast<std::uint8_t>((position >>= 8) & 255);
    return boxes;
  }

  // The position after a step. kNone if the step is blocked, or if it pushes a box to a cell from
  // which it cannot reach a goal.
  std::uint64_t After(std::uint64_t position, int step) const {
    const int to = static_cast<int>(position & 255) + step;
    if (!is_floor_[to]) return kNone;
    Boxes boxes = BoxesOf(position);
    const auto box = std::ranges::find(boxes, to);
    if (box == boxes.end()) return (position & ~std::uint64_t{255}) | static_cast<unsigned>(to);
    if (!is_useful_[to + step] || std::ranges::count(boxes, to + step) > 0) return kNone;
    *box = static_cast<std::uint8_t>(to + step);
    return Pack(static_cast<std::uint64_t>(to), std::move(boxes));
  }

  bool IsSolved(std::uint64_t position) const {
    return std::ranges::all_of(
        BoxesOf(position), [&](std::uint8_t box) { return std::ranges::count(goals_, box) > 0; });
  }

  static std::string WayTo(const std::vector<Node>& nodes) {
    std::string moves;
    for (const Node* node = &nodes.back(); node->step != 0; node = &nodes[node->parent]) {
      moves += {' ', node->step};
    }
    std::ranges::reverse(moves);
    return moves;
  }

  std::array<bool, kWidth * kWidth> is_floor_{};
  std::array<bool, kWidth * kWidth> is_useful_{};
  std::uint8_t player_ = 0;
  Boxes boxes_, goals_;
};

}  // namespace tandem
