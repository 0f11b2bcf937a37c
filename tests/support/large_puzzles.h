// The text of puzzle files with more than 256 positions.
#pragma once

#include <array>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace tandem {

/// A cube with `layers` layers. Moves are quarter turns of one layer: x0, x1, ... y0, ... z0, ...
inline std::string CubeFile(int layers) {
  // The small cube that a sticker is on, in half widths from the centre, and the way that it faces.
  using Sticker = std::array<int, 6>;
  std::map<Sticker, int> numbers;
  std::vector<Sticker> stickers;
  std::string goal;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    for (const int sign : {1, -1}) {
      for (int i = 0; i < layers * layers; ++i) {
        Sticker sticker{};
        sticker[axis] = sign * (layers - 1);
        sticker[(axis + 1) % 3] = 2 * (i / layers) - (layers - 1);
        sticker[(axis + 2) % 3] = 2 * (i % layers) - (layers - 1);
        sticker[3 + axis] = sign;
        numbers[sticker] = static_cast<int>(stickers.size());
        stickers.push_back(sticker);
        goal += std::to_string(2 * axis + (sign > 0 ? 0 : 1)) + ",";
      }
    }
  }
  std::string moves;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    for (int layer = 0; layer < layers; ++layer) {
      moves += std::string("  ") + "xyz"[axis] + std::to_string(layer) + ": [";
      for (Sticker sticker : stickers) {
        if (sticker[axis] == 2 * layer - (layers - 1)) {
          for (const std::size_t part : {0, 3}) {
            const std::size_t a = part + (axis + 1) % 3;
            const std::size_t b = part + (axis + 2) % 3;
            sticker[a] = -std::exchange(sticker[b], sticker[a]);
          }
        }
        moves += std::to_string(numbers.at(sticker)) + ",";
      }
      moves += "]\n";
    }
  }
  return "goal: [" + goal + "]\ngenerators:\n" + moves;
}

/// A row of numbers 0, 1, ... below `labels`, again and again: L rotates all of them, and X swaps
/// the first two.
inline std::string RowFile(int positions, int labels) {
  std::string goal;
  std::string rotation;
  for (int i = 0; i < positions; ++i) {
    goal += std::to_string(i % labels) + ",";
    rotation += std::to_string((i + 1) % positions) + ",";
  }
  return "goal: [" + goal + "]\ngenerators:\n  L: [" + rotation + "]\n  X: (0 1)\n";
}

}  // namespace tandem
