// The pancake puzzle: a stack of eight pancakes of different sizes, and a spatula that flips the
// top 2, 3, ... or 8 of them. The goal is the stack in order of size, with the smallest on top.
#include <tandem/puzzle.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <string>

struct Pancake {
  static constexpr int kPancakes = 8;
  static constexpr int kActions = kPancakes - 1;
  static constexpr int kDepth = kPancakes;
  static constexpr const char* kSummary =
      "a stack of 8 pancakes, the top one first; fN flips the top N";

  using State = std::array<std::uint8_t, kPancakes>;

  static State Goal() {
    State state;
    std::iota(state.begin(), state.end(), std::uint8_t{0});
    return state;
  }

  static bool IsGoal(const State& state) { return std::ranges::is_sorted(state); }

  static void Apply(State& state, int action) {
    std::reverse(state.begin(), state.begin() + action + 2);
  }

  static std::string ActionName(int action) { return "f" + std::to_string(action + 2); }

  static std::string Validate(const State& state) {
    State sorted = state;
    std::ranges::sort(sorted);
    return sorted == Goal() ? "" : "expected each number from 0 to 7 once";
  }
};

TANDEM_REGISTER_PUZZLE(pancake, Pancake);
