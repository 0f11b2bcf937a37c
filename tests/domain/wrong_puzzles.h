// Structs of one thing wrong each, which PuzzleDomain or the conformance suite tells of.
#pragma once

#include <array>
#include <atomic>
#include <optional>
#include <string>

#include "tandem/puzzle.h"

namespace tandem {

/// Three lamps: action i turns lamp i over. The goal is all out.
struct Lamps {
  static constexpr int kActions = 3;
  static constexpr int kDepth = 2;
  using State = std::array<std::uint8_t, 3>;
  static State Goal() { return {}; }
  static bool IsGoal(const State& state) { return state == Goal(); }
  static void Apply(State& state, int action) { state[static_cast<std::size_t>(action)] ^= 1; }
};

struct LampsOfVersionTwo : Lamps {
  static constexpr const char* kRules = "2";
};

struct LampsThatCountToThree : Lamps {
  static void Apply(State& state, int action) { state[static_cast<std::size_t>(action)] ^= 3; }
};

struct LampsOfAnotherInverse : Lamps {
  static int Inverse(int /*action*/) { return -1; }
};

struct LampsAtRandom : Lamps {
  static void Apply(State& state, int action) {
    static std::atomic<int> calls = 0;
    if (calls++ % 3 == 0) Lamps::Apply(state, action);
  }
};

struct LampsThatTurnOnAlone : Lamps {
  static void Apply(State& state, int action) { state[static_cast<std::size_t>(action)] = 1; }
};

struct LampsThatAreAlwaysRight : Lamps {
  static bool IsGoal(const State& /*state*/) { return true; }
};

struct LampsThatStayOut : Lamps {
  static void Apply(State& /*state*/, int /*action*/) {}
};

struct LampsWithNoStepBack : LampsThatTurnOnAlone {
  static std::optional<int> StepBack(State& /*state*/, std::uint64_t /*random*/) {
    return std::nullopt;
  }
};

/// kAction is no action.
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
    constexpr int kOfConstructor = 1000;
    if (calls++ > kOfConstructor) throw 42;
    Lamps::Apply(state, action);
  }
};

}  // namespace tandem
