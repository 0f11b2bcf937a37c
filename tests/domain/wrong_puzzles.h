// Puzzle structs with one fault each, which PuzzleDomain or the conformance suite reports.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <optional>
#include <string>
#include <string_view>

#include "tandem/puzzle.h"

namespace tandem {

/// Three lamps: action i switches lamp i. The goal is all lamps off.
struct Lamps {
  static constexpr int kActions = 3;
  static constexpr int kDepth = 2;
  using State = std::array<std::uint8_t, 3>;
  static State Goal() { return {}; }
  static bool IsGoal(const State& state) { return state == Goal(); }
  static void Apply(State& state, int action) { state[static_cast<std::size_t>(action)] ^= 1; }
};

struct LampsOfVersionTwo : Lamps {
  static constexpr const char* kVersion = "2";
};

/// Reads the letters a and b. Any other letter gives a byte that is too large.
struct LampsWithLetters : Lamps {
  static State Parse(std::string_view text) {
    State state{};
    for (std::size_t i = 0; i < std::min(text.size(), state.size()); ++i) {
      state[i] = static_cast<std::uint8_t>(text[i] - 'a');
    }
    return state;
  }
};

struct LampsInAColumn : Lamps {
  static constexpr BoardShape kBoard{.rows = 3, .columns = 1};
};

template <int kNumber>
struct LampsWithActions : Lamps {
  static constexpr int kActions = kNumber;
};

template <int kNumber>
struct LampsWithDepth : Lamps {
  static constexpr int kDepth = kNumber;
};

struct LampsWithByteAboveDepth : Lamps {
  static void Apply(State& state, int action) { state[static_cast<std::size_t>(action)] ^= 3; }
};

struct LampsWithWrongInverse : Lamps {
  static int Inverse(int /*action*/) { return -1; }
};

struct LampsThatSwitchAtRandom : Lamps {
  static void Apply(State& state, int action) {
    static std::atomic<int> calls = 0;
    if (calls++ % 3 == 0) Lamps::Apply(state, action);
  }
};

struct LampsThatTurnOnAlone : Lamps {
  static void Apply(State& state, int action) { state[static_cast<std::size_t>(action)] = 1; }
};

struct LampsThatAreAlwaysSolved : Lamps {
  static bool IsGoal(const State& /*state*/) { return true; }
};

struct LampsThatStayOff : Lamps {
  static void Apply(State& /*state*/, int /*action*/) {}
};

struct LampsThatDeclareInversesAndStayOff : LampsThatStayOff {
  static int Inverse(int action) { return action; }
};

/// A line of 10,000 places: action 0 moves one place forward, action 1 one place back. Action 2
/// leaps from place 5,000 to the goal, and no action undoes it.
struct LineWithLeap {
  static constexpr int kActions = 3;
  static constexpr int kDepth = 100;
  using State = std::array<std::uint8_t, 2>;
  static State Goal() { return {}; }
  static bool IsGoal(const State& state) { return state == Goal(); }
  static bool Apply(State& state, int action) {
    const int from = 100 * state[0] + state[1];
    const int to = action == 0 ? from + 1 : action == 1 ? from - 1 : 0;
    if (to < 0 || to >= 10'000 || (action == 2 && from != 5'000)) return false;
    state = {static_cast<std::uint8_t>(to / 100), static_cast<std::uint8_t>(to % 100)};
    return true;
  }
};

struct LineWithDeclaredLeap : LineWithLeap {
  static int Inverse(int action) { return 1 - action % 2; }
};

/// Twenty switches; action i switches switch i. If eight or more are on, action 20 switches switch
/// 13, or turns all off if `kAllOff`. The nearest 300 states contain no state so far from the goal.
template <bool kAllOff>
struct Switches {
  static constexpr int kActions = 21;
  static constexpr int kDepth = 2;
  using State = std::array<std::uint8_t, 20>;
  static State Goal() { return {}; }
  static bool IsGoal(const State& state) { return state == Goal(); }
  static bool Apply(State& state, int action) {
    if (action < 20) {
      state[static_cast<std::size_t>(action)] ^= 1;
      return true;
    }
    if (std::count(state.begin(), state.end(), 1) < 8) return false;
    if (kAllOff) state = {};
    if (!kAllOff) state[13] ^= 1;
    return true;
  }
};

struct LampsWithNoStepBack : LampsThatTurnOnAlone {
  static std::optional<int> StepBack(State& /*state*/, std::uint64_t /*random*/) {
    return std::nullopt;
  }
};

/// kAction is not an action of the puzzle.
template <int kAction>
struct LampsThatStepBackBy : LampsThatTurnOnAlone {
  static std::optional<int> StepBack(State& /*state*/, std::uint64_t /*random*/) { return kAction; }
};

struct LampsThatThrow : Lamps {
  static std::string Format(const State& /*state*/) { throw 42; }
};

struct LampsThatThrowInWalks : Lamps {
  static void Apply(State& state, int action) {
    static std::atomic<int> calls = 0;
    constexpr int kCallsOfConstructor = 50'000;
    if (calls++ > kCallsOfConstructor) throw 42;
    Lamps::Apply(state, action);
  }
};

}  // namespace tandem
