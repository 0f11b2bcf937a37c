// Tic-tac-toe, which is small enough to be searched to its end.
#include "board_game.h"

namespace tandem {
namespace {

struct TicTacToe : games::LineGame<3, 3, 3> {
  static constexpr const char* kSummary =
      "three stones in a line win; a state is three rows, such as X.O/.../...";
  static constexpr int kActions = 9;
  static constexpr int kSymmetries = 8;

  static bool Apply(State& state, int action) {
    std::uint8_t& cell = state[static_cast<std::size_t>(action)];
    if (cell != 0) return false;
    cell = static_cast<std::uint8_t>(1 + Player(state));
    return true;
  }
  static int ImageOfAction(int symmetry, int action) { return Image(symmetry, action); }
  static std::string ActionName(int action) {
    return {static_cast<char>('a' + action % 3), static_cast<char>('1' + action / 3)};
  }
  static Picture Draw(const State& state) { return games::DrawCells(state, kBoard, 0x3C6E47); }
};

TANDEM_REGISTER_GAME(tic_tac_toe, TicTacToe);

}  // namespace
}  // namespace tandem
