// Connect Four: stones fall to the bottom of one of seven columns, and four in a line win.
#include "board_game.h"

namespace tandem {
namespace {

struct ConnectFour : games::LineGame<6, 7, 4> {
  static constexpr const char* kSummary =
      "four stones in a line win, and stones fall down their column; a state is six rows, such as "
      "......./......./......./......./...O.../...X...";
  static constexpr int kActions = 7;
  static constexpr int kSymmetries = 2;

  static bool Apply(State& state, int action) {
    constexpr std::size_t kWidth = 7;
    for (std::size_t row = 6; row-- > 0;) {
      std::uint8_t& cell = state[row * kWidth + static_cast<std::size_t>(action)];
      if (cell != 0) continue;
      cell = static_cast<std::uint8_t>(1 + Player(state));
      return true;
    }
    return false;
  }
  static int ImageOfAction(int symmetry, int action) { return symmetry == 1 ? 6 - action : action; }
  static std::string ActionName(int action) { return std::to_string(action + 1); }
  static std::string Validate(const State& state) {
    for (std::size_t cell = 7; cell < state.size(); ++cell) {
      if (state[cell] == 0 && state[cell - 7] != 0) {
        return "a stone in column " + std::to_string(cell % 7 + 1) +
               " has an empty cell below it, expected stones on the ground or on stones";
      }
    }
    return LineGame::Validate(state);
  }
  static Picture Draw(const State& state) { return games::DrawCells(state, kBoard, 0x2F5FB3); }
};

TANDEM_REGISTER_GAME(connect_four, ConnectFour);

}  // namespace
}  // namespace tandem
