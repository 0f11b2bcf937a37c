// Solves levels of Sokoban by breadth-first search, knowing nothing of how Tandem plays them.
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
  /// `level` in XSB.
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

  /// A shortest solution, steps separated by spaces; "" after more than `max_positions`.
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
  static constexpr int kWidth = 16;  // the level and walls around it
  static constexpr std::uint64_t kNone = 0;
  struct Step {
    char name;
    int by;
  };
  static constexpr std::array<Step, 4> kSteps = {
      {{'u', -kWidth}, {'d', kWidth}, {'l', -1}, {'r', 1}}};

  // A position: the cell of the player in the lowest byte, those of the boxes above, in order.
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

  // A box is of use where pushes can bring it to a goal: whence it can be pulled from there.
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

  // kNone where the step leads nowhere, or a box where it is of no use.
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
