// Nim: a player takes one to three matches, and whoever takes the last one wins.
#include <tandem/game.h>

#include <array>
#include <optional>
#include <string>

struct Nim {
  static constexpr int kActions = 3;
  static constexpr int kDepth = 22;
  static constexpr const char* kSummary =
      "the number of matches that are left, and the player whose turn it is, 0 or 1";

  using State = std::array<std::uint8_t, 2>;

  static State Start() { return {21, 0}; }
  static int Player(const State& state) { return state[1]; }

  static std::optional<int> Result(const State& state) {
    return state[0] == 0 ? std::optional(-1) : std::nullopt;
  }

  static bool Apply(State& state, int action) {
    if (state[0] < action + 1) return false;
    state[0] = static_cast<std::uint8_t>(state[0] - action - 1);
    state[1] = static_cast<std::uint8_t>(1 - state[1]);
    return true;
  }

  static std::string ActionName(int action) { return "take" + std::to_string(action + 1); }

  static std::string Validate(const State& state) {
    return state[1] < 2 ? "" : "the player is " + std::to_string(state[1]) + ", expected 0 or 1";
  }
};

TANDEM_REGISTER_GAME(nim, Nim);
