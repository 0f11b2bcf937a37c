// The Towers of Hanoi: three pegs, and discs that never lie on smaller discs. The goal is the tower
// on the last peg.
#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <utility>

#include "tandem/puzzle.h"

namespace tandem {
namespace {

constexpr int kMinDiscs = 3;
constexpr int kMaxDiscs = 9;

template <int kDiscs>
struct Hanoi {
  static constexpr int kActions = 6;
  static constexpr int kDepth = 3;
  static constexpr const char* kSummary =
      "Towers of Hanoi; a state is the peg, 0 to 2, of each disc, smallest first; 02 moves the "
      "top disc of peg 0 to peg 2";

  using State = std::array<std::uint8_t, kDiscs>;  // the peg of each disc, smallest first

  static State Goal() {
    State state;
    state.fill(2);
    return state;
  }

  static bool IsGoal(const State& state) { return state == Goal(); }

  static std::pair<int, int> Pegs(int action) {
    constexpr std::array<std::pair<int, int>, kActions> kPegs = {
        {{0, 1}, {0, 2}, {1, 0}, {1, 2}, {2, 0}, {2, 1}}};
    return kPegs[action];
  }

  static std::string ActionName(int action) {
    return std::to_string(Pegs(action).first) + std::to_string(Pegs(action).second);
  }

  static bool Apply(State& state, int action) {
    const auto [from, to] = Pegs(action);
    const auto disc = std::ranges::find(state, from);  // the top disc
    if (disc == state.end() || std::ranges::find(state, to) < disc) return false;
    *disc = static_cast<std::uint8_t>(to);
    return true;
  }

  static Picture Draw(const State& state) {
    constexpr float kPegWidth = kDiscs + 1.5F;
    Picture picture;
    std::array<int, kDepth> height{};
    for (int disc = kDiscs; disc-- > 0;) {
      const int peg = state[disc];
      if (peg >= kDepth) continue;  // not a state; there is no such peg to draw the disc on
      const float width = static_cast<float>(disc) + 1.5F;  // an odd number of characters
      picture.cells.push_back({.x = kPegWidth * static_cast<float>(peg) + (kPegWidth - width) / 2,
                               .y = static_cast<float>(kDiscs - 1 - height[peg]++),
                               .text = std::to_string(disc + 1),
                               .colour = 0x40c0a0 + 0x140000 * disc - 0x000c08 * disc,
                               .width = width});
    }
    for (int peg = 0; peg < kDepth; ++peg) {
      picture.cells.push_back({.x = kPegWidth * static_cast<float>(peg) + 0.5F,
                               .y = kDiscs,
                               .text = "peg " + std::to_string(peg),
                               .width = kPegWidth - 1});
    }
    return picture;
  }
};

template <int kDiscs>
std::unique_ptr<const Domain> MakeFrom(const std::string& discs) {
  if constexpr (kDiscs > kMaxDiscs) {
    return nullptr;
  } else {
    if (discs != std::to_string(kDiscs)) return MakeFrom<kDiscs + 1>(discs);
    return std::make_unique<const PuzzleDomain<Hanoi<kDiscs>>>("hanoi:" + discs);
  }
}

TANDEM_REGISTER_DOMAIN(hanoi,
                       DomainParameter{.key = "discs",
                                       .meaning = "number of discs of the tower",
                                       .expected = "a whole number from 3 to 9",
                                       .default_value = "5"},
                       MakeFrom<kMinDiscs>);

}  // namespace
}  // namespace tandem
