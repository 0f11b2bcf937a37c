// A walk through a maze in eight directions; diagonal steps cost more. Each problem has its own
// walls, start and goal. A diagonal step requires that both cells beside it are free.
#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "board/board.h"
#include "tandem/error.h"
#include "tandem/registry.h"

namespace tandem {
namespace {

constexpr int kKinds = 5;  // no boxes
constexpr int kDirections = 8;
constexpr float kDiagonal = 1.41421356F;

struct Step {
  int down, right;
};
constexpr std::array<Step, kDirections> kSteps = {
    {{-1, 0}, {1, 0}, {0, -1}, {0, 1}, {-1, -1}, {-1, 1}, {1, -1}, {1, 1}}};

DomainSpec Spec(BoardShape shape) {
  return {.name = "grid:" + FormatBoardShape(shape),
          .summary =
              "a walk through a maze, in eight directions; a state is lines of cells: # wall, @ "
              "walker, . goal, + both",
          .state_size = shape.cells(),
          .input = {.positions = shape.cells(), .depth = kKinds},
          .board = shape,
          .action_names = {"u", "d", "l", "r", "ul", "ur", "dl", "dr"},
          .inverse_actions = {1, 0, 3, 2, 7, 6, 5, 4},
          .action_costs = {1, 1, 1, 1, kDiagonal, kDiagonal, kDiagonal, kDiagonal},
          .masks_actions = true,
          .per_problem_goals = true,
          .moves_goals = true,
          .multiline_states = true};
}

class Grid final : public board::BoardDomain {
 public:
  explicit Grid(BoardShape shape) : BoardDomain(Spec(shape)) {}

  void IsGoal(ConstRows states, std::span<std::uint8_t> is_goal) const override {
    for (std::size_t i = 0; i < states.size(); ++i) {
      is_goal[i] = std::ranges::find(states[i], board::kPlayerOnGoal) != states[i].end() ? 1 : 0;
    }
  }

  // Puts the goal where the walker of `reached` is.
  void MoveGoals(Rows states, std::span<const std::uint8_t> reached) const override {
    const auto goal = static_cast<std::size_t>(board::PlayerOf(reached));
    for (std::size_t i = 0; i < states.size(); ++i) {
      for (std::size_t cell = 0; cell < reached.size(); ++cell) {
        states[i][cell] = board::WithGoal(states[i][cell], cell == goal);
      }
    }
  }

  void ParseState(std::string_view text, std::span<std::uint8_t> state) const override {
    board::Parse(text, shape(), kKinds, state);
    const auto goals =
        std::ranges::count(state, board::kGoal) + std::ranges::count(state, board::kPlayerOnGoal);
    if (goals != 1) {
      throw InputError("there are " + std::to_string(goals) + " goals, expected one '.' or '+'");
    }
    if (ReachesGoal(state)) return;
    throw InputError("the goal cannot be reached: walls separate it from the walker");
  }

 private:
  // Cells outside the board count as walls.
  bool IsOpen(const std::uint8_t* state, int row, int column) const {
    return row >= 0 && row < shape().rows && column >= 0 && column < shape().columns &&
           state[row * shape().columns + column] != board::kWall;
  }

  bool Applies(const std::uint8_t* state, int from, Action action) const override {
    const Step step = kSteps[action];
    const int row = from / shape().columns;
    const int column = from % shape().columns;
    return IsOpen(state, row + step.down, column + step.right) &&
           IsOpen(state, row + step.down, column) && IsOpen(state, row, column + step.right);
  }

  int After(int from, Action action) const {
    return from + kSteps[action].down * shape().columns + kSteps[action].right;
  }

  void Move(std::uint8_t* state, int walker, Action action) const override {
    std::uint8_t& to = state[After(walker, action)];
    to = board::WithPlayer(to);
    state[walker] = board::Without(state[walker]);
  }

  // The cells that can be reached from a cell. Diagonal steps do not reach any others.
  std::vector<int> ReachableFrom(const std::uint8_t* state, int from) const {
    std::array<bool, std::size_t{board::kMaxSize} * board::kMaxSize> seen{};
    std::vector<int> reached = {from};
    seen[from] = true;
    for (std::size_t i = 0; i < reached.size(); ++i) {
      for (Action a = 0; a < 4; ++a) {
        if (!Applies(state, reached[i], a)) continue;
        const int to = After(reached[i], a);
        if (!std::exchange(seen[to], true)) reached.push_back(to);
      }
    }
    return reached;
  }

  bool ReachesGoal(std::span<const std::uint8_t> state) const {
    const std::vector<int> reached = ReachableFrom(state.data(), board::PlayerOf(state));
    return std::ranges::any_of(reached, [&](int cell) {
      return state[cell] == board::kGoal || state[cell] == board::kPlayerOnGoal;
    });
  }

  // Makes the outermost cells and a quarter of the others walls, or fewer if that would leave the
  // walker too little room.
  void DrawGoal(std::span<std::uint8_t> state, std::uint64_t seed) const override {
    board::Randomness random(seed);
    const int columns = shape().columns;
    const int width = columns - 2;  // without the outermost cells
    const int inner = (shape().rows - 2) * width;
    for (std::uint64_t walls_in_100 = 25;; --walls_in_100) {
      std::ranges::fill(state, board::kWall);
      for (int cell = 0; cell < inner; ++cell) {
        if (random() % 100 < walls_in_100) continue;
        state[(cell / width + 1) * columns + cell % width + 1] = board::kFloor;
      }
      const auto cell = static_cast<int>(random() % static_cast<std::uint64_t>(inner));
      const int goal = (cell / width + 1) * columns + cell % width + 1;
      state[goal] = board::kPlayerOnGoal;
      if (std::cmp_greater(ReachableFrom(state.data(), goal).size(), inner / 2)) return;
    }
  }
};

TANDEM_REGISTER_DOMAIN(grid, board::SizeParameter(), board::Make<Grid>);

}  // namespace
}  // namespace tandem
