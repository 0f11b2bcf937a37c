// A puzzle whose costs-to-go are known: a marker steps left or right on a ring of cells.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tandem/error.h"
#include "tandem/permutation.h"

namespace tandem {

class RingDomain final : public PermutationDomain {
 public:
  explicit RingDomain(int cells, std::vector<float> action_costs = {1, 1})
      : PermutationDomain({.name = "ring",
                           .summary = "for tests",
                           .action_names = {"l", "r"},
                           .action_costs = std::move(action_costs)},
                          Goal(cells), {Rotation(cells, 1), Rotation(cells, cells - 1)}) {}

  void ParseState(std::string_view text, std::span<std::uint8_t> state) const override {
    if (text.size() != state.size()) throw InputError("expected one cell per position");
    for (std::size_t i = 0; i < state.size(); ++i) state[i] = text[i] == 'x' ? 1 : 0;
  }

  std::string FormatState(std::span<const std::uint8_t> state) const override {
    std::string text;
    for (const std::uint8_t cell : state) text += cell != 0 ? 'x' : '.';
    return text;
  }

  /// The state with the marker in this cell.
  std::vector<std::uint8_t> At(std::size_t cell) const {
    std::vector<std::uint8_t> state(static_cast<std::size_t>(spec().state_size), 0);
    state[cell] = 1;
    return state;
  }

  /// The marker's distance from cell 0.
  static int Distance(std::span<const std::uint8_t> state) {
    const auto at = std::ranges::find(state, 1) - state.begin();
    return static_cast<int>(std::min<std::ptrdiff_t>(at, std::ssize(state) - at));
  }

  /// The distance as an estimate, which is exact if both actions cost 1.
  static float Estimate(std::span<const std::uint8_t> state) {
    return static_cast<float>(Distance(state));
  }

 private:
  static std::vector<std::uint8_t> Goal(int cells) {
    std::vector<std::uint8_t> goal(static_cast<std::size_t>(cells), 0);
    goal[0] = 1;
    return goal;
  }

  static Permutation Rotation(int cells, int by) {
    Permutation permutation;
    for (int i = 0; i < cells; ++i) {
      permutation.push_back(static_cast<std::uint8_t>((i + by) % cells));
    }
    return permutation;
  }
};

}  // namespace tandem
