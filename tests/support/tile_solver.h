// Solves sliding tile puzzles by weighted A*. It does not use Tandem's moves, so that it can check
// them.
#pragma once

#include <absl/container/flat_hash_map.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <queue>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace tandem {

/// Solves boards of `size` x `size` numbers. 0 is the blank, and the goal is 1 2 3 ... 0.
class TileSolver {
 public:
  /// The heuristic is multiplied by `weight`. A higher weight finds longer solutions sooner.
  TileSolver(int size, int weight) : size_(size), weight_(weight) {}

  /// Returns moves separated by spaces, each named after the direction in which a tile slides.
  std::string Solve(const std::string& text) const {
    std::string start;
    std::istringstream in(text);
    for (int tile = 0; in >> tile;) start += static_cast<char>(tile);

    Search search;
    Open(search, start, {.parent = start, .move = 0, .cost = 0});
    while (true) {
      const auto [value, cost, board] = search.open.top();
      search.open.pop();
      if (cost > search.nodes.at(board).cost) continue;  // a shorter path was found later
      if (Estimate(board) == 0) return WayTo(search, board);
      Expand(search, board, cost);
    }
  }

 private:
  struct Node {
    std::string parent;
    char move;
    int cost;
  };
  struct Search {
    absl::flat_hash_map<std::string, Node> nodes;     // by board, one byte per number
    using Entry = std::tuple<int, int, std::string>;  // value, cost, board
    std::priority_queue<Entry, std::vector<Entry>, std::greater<>> open;
  };

  void Open(Search& search, const std::string& board, Node node) const {
    search.open.emplace(node.cost + weight_ * Estimate(board), node.cost, board);
    search.nodes[board] = std::move(node);
  }

  void Expand(Search& search, const std::string& board, int cost) const {
    const int blank = static_cast<int>(board.find('\0'));
    const int row = blank / size_;
    const int column = blank % size_;
    const auto slide = [&](char move, bool there_is_one, int from) {
      if (!there_is_one) return;
      std::string child = board;
      std::swap(child[blank], child[from]);
      const auto known = search.nodes.find(child);
      if (known != search.nodes.end() && known->second.cost <= cost + 1) return;
      Open(search, child, {.parent = board, .move = move, .cost = cost + 1});
    };
    slide('U', row + 1 < size_, blank + size_);
    slide('D', row > 0, blank - size_);
    slide('L', column + 1 < size_, blank + 1);
    slide('R', column > 0, blank - 1);
  }

  // The Manhattan distance, plus 2 for each linear conflict: two tiles in their goal row or column
  // where one must step aside for the other.
  int Estimate(const std::string& board) const {
    int estimate = 0;
    for (int cell = 0; cell < size_ * size_; ++cell) {
      if (board[cell] == 0) continue;
      const int home = board[cell] - 1;
      const int row = cell / size_;
      const int column = cell % size_;
      estimate += std::abs(row - home / size_) + std::abs(column - home % size_);
      for (int right = cell + 1; row == home / size_ && right / size_ == row; ++right) {
        const int other = board[right] - 1;
        if (other >= 0 && other / size_ == row && other < home) estimate += 2;
      }
      for (int below = cell + size_; column == home % size_ && below < size_ * size_;
           below += size_) {
        const int other = board[below] - 1;
        if (other >= 0 && other % size_ == column && other < home) estimate += 2;
      }
    }
    return estimate;
  }

  static std::string WayTo(const Search& search, const std::string& board) {
    std::string moves;
    for (const Node* node = &search.nodes.at(board); node->cost > 0;
         node = &search.nodes.at(node->parent)) {
      moves += {' ', node->move};
    }
    std::ranges::reverse(moves);
    return moves;
  }

  const int size_;
  const int weight_;
};

}  // namespace tandem
