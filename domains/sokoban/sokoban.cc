// Sokoban: the player walks and pushes one box at a time, until every box is on a
// goal. A step against a wall, or against a box that cannot move, does not apply. Pushes cannot be
// undone, so problems are made backwards: by pulling, from a level in which every box is on a goal.
#include <algorithm>
#include <array>
#include <cctype>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "board/board.h"
#include "tandem/error.h"
#include "tandem/registry.h"
#include "tandem/state_text.h"

namespace tandem {
namespace {

using board::Randomness;

constexpr int kKinds = 7;
constexpr int kDirections = 4;

// Of the directions u, d, l, r.
constexpr std::array<int, kDirections> kDown = {-1, 1, 0, 0};
constexpr std::array<int, kDirections> kRight = {0, 0, -1, 1};

// The shares of the cells that DrawGoal digs, in percent.
constexpr int kLeastDug = 35;
constexpr int kLeastDugIfSmall = 55;  // on boards of fewer than kLargeSize lines: boxes must move
constexpr int kMostDug = 68;
constexpr int kLargeSize = 10;

// The digger turns this often, and at each step digs one of these groups of cells around it, each
// (down, right).
constexpr std::uint64_t kTurnsInHundred = 35;
using Offset = std::pair<int, int>;
constexpr std::array<std::array<Offset, 4>, 5> kDug = {{
    {{{0, -1}, {0, 0}, {0, 1}, {0, 1}}},
    {{{-1, 0}, {0, 0}, {1, 0}, {1, 0}}},
    {{{0, -1}, {0, 0}, {1, 0}, {1, 0}}},
    {{{0, -1}, {0, 0}, {1, -1}, {1, 0}}},
    {{{0, 0}, {0, 1}, {1, 0}, {1, 0}}},
}};

DomainSpec Spec(BoardShape shape) {
  return {.name = "sokoban:" + FormatBoardShape(shape),
          .summary =
              "Sokoban; a state is lines of XSB that fit on the board: # wall, @ player, $ "
              "box, . goal, + and * player and box on a goal",
          .state_size = shape.cells(),
          .input = {.positions = shape.cells(), .depth = kKinds},
          .board = shape,
          .action_names = {"u", "d", "l", "r"},
          .masks_actions = true,
          .per_problem_goals = true,
          .moves_goals = true,
          .multiline_states = true};
}

class Sokoban final : public board::BoardDomain {
 public:
  explicit Sokoban(BoardShape shape)
      : BoardDomain(Spec(shape)), steps_{-shape.columns, shape.columns, -1, 1} {}

  void StepBack(Rows states, std::span<const std::uint64_t> randoms,
                std::span<std::optional<Action>> actions) const override {
    for (std::size_t i = 0; i < states.size(); ++i) {
      actions[i] = StepBackInOne(states[i], randoms[i]);
    }
  }

  bool Predecessors(ConstRows states, std::vector<std::uint8_t>& predecessors) const override {
    for (std::size_t i = 0; i < states.size(); ++i) {
      AddPredecessorsOf(states[i], predecessors);
    }
    return true;
  }

  void IsGoal(ConstRows states, std::span<std::uint8_t> is_goal) const override {
    for (std::size_t i = 0; i < states.size(); ++i) {
      is_goal[i] = std::ranges::find(states[i], board::kBox) == states[i].end() ? 1 : 0;
    }
  }

  // The boxes are on the goals, and the player may stand on any free cell.
  void AllGoals(std::span<const std::uint8_t> goal,
                std::vector<std::uint8_t>& goals) const override {
    std::vector<std::uint8_t> board(goal.begin(), goal.end());
    std::uint8_t& player = board[static_cast<std::size_t>(board::PlayerOf(goal))];
    player = board::Without(player);
    for (std::size_t cell = 0; cell < board.size(); ++cell) {
      if (!board::IsFree(board[cell])) continue;
      goals.insert(goals.end(), board.begin(), board.end());
      std::uint8_t& stands = goals[goals.size() - board.size() + cell];
      stands = board::WithPlayer(stands);
    }
  }

  // Puts the goals where the boxes of `reached` are.
  void MoveGoals(Rows states, std::span<const std::uint8_t> reached) const override {
    for (std::size_t i = 0; i < states.size(); ++i) {
      for (std::size_t cell = 0; cell < reached.size(); ++cell) {
        states[i][cell] = board::WithGoal(states[i][cell], board::IsBox(reached[cell]));
      }
    }
  }

  void ParseState(std::string_view text, std::span<std::uint8_t> state) const override {
    board::Parse(text, shape(), kKinds, state);
    const auto count = [&](int a, int b) {
      return std::ranges::count(state, a) + std::ranges::count(state, b);
    };
    const auto boxes = count(board::kBox, board::kBoxOnGoal);
    const auto goals =
        count(board::kGoal, board::kPlayerOnGoal) + std::ranges::count(state, board::kBoxOnGoal);
    if (boxes == 0) throw InputError("there is no box, expected at least one '$' or '*'");
    if (boxes > goals) {
      throw InputError("there are " + std::to_string(boxes) + " boxes and " +
                       std::to_string(goals) + " goals, expected a goal for every box");
    }
  }

  // Reads LURD: letters, with or without spaces between them, and run lengths. A capital letter is
  // a push.
  std::vector<Action> ParseMoves(std::string_view moves,
                                 std::string_view /*start*/) const override {
    std::vector<Action> actions;
    for (const char letter : board::WithoutRuns(moves)) {
      const auto byte = static_cast<unsigned char>(letter);
      if (std::isspace(byte) != 0) continue;
      const std::string name(1, static_cast<char>(std::tolower(byte)));
      const auto action = std::ranges::find(spec().action_names, name);
      if (action == spec().action_names.end()) {
        throw InputError("move " + std::to_string(actions.size() + 1) + " is " + Quoted(letter) +
                         ", expected one of u d l r");
      }
      actions.push_back(static_cast<Action>(action - spec().action_names.begin()));
    }
    return actions;
  }

  std::string FormatMoves(std::span<const Action> actions, std::string_view start) const override {
    std::vector<std::uint8_t> state(spec().state_size);
    ParseState(start, state);
    std::string moves;
    for (const Action action : actions) {
      const int player = board::PlayerOf(state);
      const bool pushes = board::IsBox(At(state.data(), player, steps_[action]));
      const char name = spec().action_names[action][0];
      moves += pushes ? static_cast<char>(std::toupper(name)) : name;
      Apply(Rows(std::span(state)), {&action, 1});
    }
    return moves;
  }

 private:
  // If the player can pull a box, it usually pulls instead of walking.
  std::optional<Action> StepBackInOne(std::span<std::uint8_t> state, std::uint64_t random) const {
    constexpr std::uint64_t kWalksInFour = 1;
    const int player = board::PlayerOf(state);
    std::array<Action, kDirections> walks{};
    std::array<Action, kDirections> pulls{};
    std::size_t num_walks = 0;
    std::size_t num_pulls = 0;
    for (Action a = 0; a < kDirections; ++a) {
      if (!board::IsFree(At(state.data(), player, -steps_[a]))) continue;
      walks[num_walks++] = a;
      if (board::IsBox(At(state.data(), player, steps_[a]))) pulls[num_pulls++] = a;
    }
    if (num_walks == 0) return std::nullopt;
    const bool pull = num_pulls > 0 && random % 4 >= kWalksInFour;
    const Action action = pull ? pulls[random / 4 % num_pulls] : walks[random / 4 % num_walks];
    StepBackFrom(state.data(), player, steps_[action], pull);
    return action;
  }

  void AddPredecessorsOf(std::span<const std::uint8_t> state,
                         std::vector<std::uint8_t>& states) const {
    const int player = board::PlayerOf(state);
    for (const int step : steps_) {
      if (!board::IsFree(At(state.data(), player, -step))) continue;
      const bool can_pull = board::IsBox(At(state.data(), player, step));
      for (const bool pull : {false, true}) {
        if (pull && !can_pull) continue;
        states.insert(states.end(), state.begin(), state.end());
        StepBackFrom(states.data() + states.size() - state.size(), player, step, pull);
      }
    }
  }

  // Cells outside the board count as walls. The last cell of a row and the first of the next are
  // neighbours in memory, but not on the board.
  std::uint8_t At(const std::uint8_t* state, int from, int step) const {
    const int to = from + step;
    const bool sideways = step == 1 || step == -1;
    if (to < 0 || to >= shape().cells() ||
        (sideways && to / shape().columns != from / shape().columns)) {
      return board::kWall;
    }
    return state[to];
  }

  bool Applies(const std::uint8_t* state, int player, Action action) const override {
    const int step = steps_[action];
    const std::uint8_t next = At(state, player, step);
    return board::IsFree(next) ||
           (board::IsBox(next) && board::IsFree(At(state, player + step, step)));
  }

  void Move(std::uint8_t* state, int player, Action action) const override {
    const int step = steps_[action];
    std::uint8_t& next = state[player + step];
    if (board::IsBox(next)) {
      std::uint8_t& behind = state[player + 2 * step];
      behind = board::WithBox(behind);
      next = board::Without(next);
    }
    next = board::WithPlayer(next);
    state[player] = board::Without(state[player]);
  }

  static void StepBackFrom(std::uint8_t* state, int player, int step, bool pull) {
    std::uint8_t& before = state[player - step];
    before = board::WithPlayer(before);
    state[player] = board::Without(state[player]);
    if (!pull) return;
    state[player] = board::WithBox(state[player]);
    state[player + step] = board::Without(state[player + step]);
  }

  // Makes rooms with every box on a goal, as the levels of Boxoban are made (Racaniere et al.,
  // "Imagination-Augmented Agents for Deep Reinforcement Learning", NeurIPS 2017): a digger walks
  // straight on, turns now and then, and at each step digs some of the cells around it. The
  // outermost cells stay walls.
  void DrawGoal(std::span<std::uint8_t> state, std::uint64_t seed) const override {
    Randomness random(seed);
    std::ranges::fill(state, board::kWall);
    const int smaller_side = std::min(shape().rows, shape().columns);
    const int rows = shape().rows - 2;  // without the outermost cells
    const int columns = shape().columns - 2;
    const auto any_of = [&](int side) { return 1 + static_cast<int>(random() % side); };
    const int cells = rows * columns;
    const int least = smaller_side < kLargeSize ? kLeastDugIfSmall : kLeastDug;
    const int wanted =
        (cells * least + static_cast<int>(random() % (cells * (kMostDug - least) + 1))) / 100;
    int row = any_of(rows);
    int column = any_of(columns);
    std::uint64_t direction = random() % kDirections;
    for (int dug = 0; dug < wanted;) {
      for (const auto& [down, right] : kDug[random() % kDug.size()]) {
        const int y = row + down;
        const int x = column + right;
        if (y < 1 || y > rows || x < 1 || x > columns) continue;
        std::uint8_t& cell = state[y * shape().columns + x];
        if (cell == board::kWall) ++dug;
        cell = board::kFloor;
      }
      if (random() % 100 < kTurnsInHundred) direction = random() % kDirections;
      row = std::clamp(row + kDown[direction], 1, rows);
      column = std::clamp(column + kRight[direction], 1, columns);
    }
    const auto anywhere = [&] { return any_of(rows) * shape().columns + any_of(columns); };
    const auto place = [&](std::uint8_t what) {
      int at = anywhere();
      while (state[at] != board::kFloor) at = anywhere();
      state[at] = what;
    };
    const int boxes = smaller_side < 7 ? 2 : 4;
    for (int i = 0; i < boxes; ++i) place(board::kBoxOnGoal);
    place(board::kPlayer);
  }

  const std::array<int, kDirections> steps_;  // offsets of u, d, l, r
};

TANDEM_REGISTER_DOMAIN(sokoban, board::SizeParameter(), board::Make<Sokoban>);

}  // namespace
}  // namespace tandem
