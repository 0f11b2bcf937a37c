// Reads positions of Connect Four, one in a line, and writes the value of each column for the
// player to move: 1, 0 or -1, and -2 if it is full. scripts/game_strength calls it.
#include <exception>
#include <iostream>
#include <string>
#include <vector>

#include "support/connect_four_solver.h"
#include "tandem/registry.h"

int main() {
  try {
    const auto game = tandem::MakeDomain("connect_four");
    tandem::ConnectFourSolver solver;
    std::vector<std::uint8_t> state(static_cast<std::size_t>(game->spec().state_size));
    for (std::string line; std::getline(std::cin, line);) {
      game->ParseState(line, state);
      for (const int value : solver.ValuesOfMoves(state)) std::cout << value << ' ';
      std::cout << std::endl;
    }
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}
