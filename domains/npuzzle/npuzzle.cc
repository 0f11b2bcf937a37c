// Sliding-tile puzzles, such as the 15-puzzle, on boards of up to 7x7 cells.
//
// A state is the numbers of the tiles, row by row, one byte each; 0 is the blank. The goal is
// 1 2 3 ... 0. Many lists of states, such as Korf's, have the goal 0 1 2 3 ... instead, with the
// blank first. Such a board is turned by 180 degrees, and its tile N becomes tile CELLS - N.
//
// An action is named after the direction in which a tile moves into the blank: U
// slides the tile below the blank up. If there is no such tile, the action does not apply.
#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include "tandem/error.h"
#include "tandem/registry.h"
#include "tandem/state_text.h"

namespace tandem {
namespace {

constexpr int kActions = 4;
constexpr int kMinSize = 2;
constexpr int kMaxSize = 7;
constexpr int kMaxCells = kMaxSize * kMaxSize;

DomainSpec Spec(BoardShape shape) {
  return {.name = "npuzzle:" + FormatBoardShape(shape),
          .summary =
              "sliding tiles, the 15-puzzle if SIZE is 4; a state is their numbers row by row, "
              "0 is the blank",
          .state_size = shape.cells(),
          .input = {.positions = shape.cells(), .depth = shape.cells()},
          .board = shape,
          .action_names = {"U", "D", "L", "R"},
          .inverse_actions = {1, 0, 3, 2},
          .masks_actions = true};
}

// The position of the tile that `action` slides into the blank at `blank`; `blank` if there is
// none.
int SourceOf(BoardShape shape, int blank, Action action) {
  const int row = blank / shape.columns;
  const int column = blank % shape.columns;
  const std::array<std::pair<bool, int>, kActions> by_action = {
      {{row + 1 < shape.rows, shape.columns},  // U
       {row > 0, -shape.columns},              // D
       {column + 1 < shape.columns, 1},        // L
       {column > 0, -1}}};                     // R
  return by_action[action].first ? blank + by_action[action].second : blank;
}

class NPuzzle final : public Domain {
 public:
  explicit NPuzzle(BoardShape shape) : Domain(Spec(shape)), shape_(shape), cells_(shape.cells()) {
    for (int cell = 0; cell < cells_; ++cell) {
      goal_[cell] = static_cast<std::uint8_t>((cell + 1) % cells_);
      for (Action a = 0; a < kActions; ++a) {
        sources_[cell][a] = static_cast<std::uint8_t>(SourceOf(shape, cell, a));
      }
    }
  }

  void WriteGoals(Rows states) const override {
    for (std::size_t i = 0; i < states.size(); ++i) {
      std::copy_n(goal_.data(), cells_, states[i].data());
    }
  }

  void Apply(Rows states, std::span<const Action> actions) const override {
    for (std::size_t i = 0; i < states.size(); ++i) {
      std::uint8_t* state = states[i].data();
      const std::size_t blank = BlankOf(state);
      Slide(state, blank, sources_[blank][actions[i]]);
    }
  }

  void Expand(ConstRows states, Rows children) const override {
    std::uint8_t* child = children.data();
    for (std::size_t i = 0; i < states.size(); ++i) {
      const std::uint8_t* state = states[i].data();
      const std::size_t blank = BlankOf(state);
      for (const std::uint8_t source : sources_[blank]) {
        std::copy_n(state, cells_, child);
        Slide(child, blank, source);
        child += cells_;
      }
    }
  }

  void Mask(ConstRows states, std::span<std::uint8_t> applies) const override {
    std::uint8_t* out = applies.data();
    for (std::size_t i = 0; i < states.size(); ++i) {
      const std::size_t blank = BlankOf(states[i].data());
      for (const std::uint8_t source : sources_[blank]) *out++ = source != blank ? 1 : 0;
    }
  }

  void IsGoal(ConstRows states, std::span<std::uint8_t> is_goal) const override {
    for (std::size_t i = 0; i < states.size(); ++i) {
      is_goal[i] = std::memcmp(states[i].data(), goal_.data(), cells_) == 0 ? 1 : 0;
    }
  }

  void ParseState(std::string_view text, std::span<std::uint8_t> state) const override;
  std::vector<Action> ParseMoves(std::string_view moves, std::string_view start) const override;
  std::string FormatMoves(std::span<const Action> actions, std::string_view start) const override;
  std::string Reading(std::string_view text) const override;
  std::string FormatState(std::span<const std::uint8_t> state) const override;
  Picture Draw(std::span<const std::uint8_t> state) const override;

 private:
  // Reads "STATE" or "STATE -> GOAL" into `state`. Returns whether the goal has the blank first and
  // the board was therefore turned. Without GOAL, the goal is 1 2 3 ... 0 unless no slides lead to
  // it: they then lead to the other goal if HasOneGoal.
  bool Read(std::string_view text, std::span<std::uint8_t> state) const;

  // Turning the board exchanges U with D and L with R, as taking them back does.
  std::vector<Action> Turned(std::span<const Action> actions) const {
    std::vector<Action> turned;
    for (const Action action : actions) turned.push_back(spec().inverse_actions[action]);
    return turned;
  }

  // Whether the text of a state is that of a board that was turned. "" is not.
  bool IsTurned(std::string_view text) const {
    std::array<std::uint8_t, kMaxCells> state{};
    return !text.empty() && Read(text, std::span(state).first(spec().state_size));
  }

  // Every state has a blank. Bytes that are not a state may have none; then any cell will do.
  std::size_t BlankOf(const std::uint8_t* state) const {
    const auto* blank = static_cast<const std::uint8_t*>(std::memchr(state, 0, cells_));
    return blank == nullptr ? 0 : blank - state;
  }

  // If the action does not apply, the source is the blank itself, and swapping changes nothing.
  static void Slide(std::uint8_t* state, std::size_t blank, std::size_t source) {
    state[blank] = state[source];
    state[source] = 0;
  }

  const BoardShape shape_;
  const int cells_;
  std::array<std::uint8_t, kMaxCells> goal_{};
  std::array<std::array<std::uint8_t, kActions>, kMaxCells> sources_{};  // by blank and action
};

std::string Board(BoardShape shape) {
  return std::to_string(shape.rows) + "x" + std::to_string(shape.columns);
}

// Whether slides lead from a state to only one of the two goals. To exchange the goals takes
// cells - 1 swaps of the blank with a tile, and rows + columns - 2 steps of the blank.
bool HasOneGoal(BoardShape shape) {
  return (shape.cells() - 1 + shape.rows + shape.columns) % 2 != 0;
}

void CheckCount(std::size_t found, BoardShape shape) {
  if (std::cmp_equal(found, shape.cells())) return;
  std::string message = "a " + Board(shape) + " board has " + std::to_string(shape.cells()) +
                        " numbers separated by spaces, found " + std::to_string(found);
  if (std::cmp_equal(found, shape.cells() + 1)) message += "; is the first one the line's number?";
  for (int other = kMinSize; other <= kMaxSize; ++other) {
    if (!std::cmp_equal(found, other * other)) continue;
    message +=
        ", as on the " + Board({other, other}) + " board of npuzzle:" + std::to_string(other);
  }
  throw InputError(message);
}

std::string TileName(std::ptrdiff_t tile) {
  return tile == 0 ? "the blank, 0," : "tile " + std::to_string(tile);
}

void CheckEachTileOnce(std::span<const std::uint8_t> state) {
  for (std::size_t second = 0; second < state.size(); ++second) {
    const std::size_t first = std::ranges::find(state, state[second]) - state.begin();
    if (first == second) continue;
    std::ptrdiff_t missing = 0;
    while (std::ranges::count(state, missing) > 0) ++missing;
    throw InputError(TileName(state[second]) + " occurs twice, as number " +
                     std::to_string(first + 1) + " and number " + std::to_string(second + 1) +
                     ", and " + TileName(missing) + " is missing");
  }
}

// Each slide swaps the blank with a tile and moves the blank by one cell. A state can therefore be
// solved only if the number of swaps that sort it and the blank's distance from its goal are both
// even or both odd.
bool IsSolvable(std::span<const std::uint8_t> state, BoardShape shape) {
  const int cells = shape.cells();
  std::array<bool, kMaxCells> seen{};
  int swaps = 0;
  for (int start = 0; start < cells; ++start) {
    for (int cell = start; !seen[cell]; cell = (state[cell] + cells - 1) % cells) {
      seen[cell] = true;
      if (cell != start) ++swaps;
    }
  }
  const auto blank = static_cast<int>(std::ranges::find(state, 0) - state.begin());
  const int distance =
      (shape.rows - 1 - blank / shape.columns) + (shape.columns - 1 - blank % shape.columns);
  return swaps % 2 == distance % 2;
}

// Reads numbers, with 0 or '_' for the blank.
void ReadTiles(std::string_view text, BoardShape shape, std::span<std::uint8_t> state) {
  const std::vector<std::string_view> words = NumberWords(text);
  CheckCount(words.size(), shape);
  std::string numbers;
  for (const std::string_view word : words) numbers.append(word == "_" ? "0" : word).append(" ");
  ParseNumbers(numbers, shape.cells(), state);
  CheckEachTileOnce(state);
}

// The goal as text.
std::string Goal(BoardShape shape, bool blank_first) {
  std::string numbers = blank_first ? "0" : "1";
  for (int tile = blank_first ? 1 : 2; tile < shape.cells(); ++tile) {
    numbers.append(" ").append(std::to_string(tile));
  }
  return blank_first ? numbers : numbers + " 0";
}

constexpr std::string_view kArrow = "->";  // between a state and its goal

bool NPuzzle::Read(std::string_view text, std::span<std::uint8_t> state) const {
  const std::size_t arrow = std::min(text.find(kArrow), text.size());
  bool turned = false;
  if (arrow < text.size()) {
    ReadTiles(text.substr(arrow + kArrow.size()), shape_, state);
    const std::string goal = FormatNumbers(state);
    turned = goal == Goal(shape_, true);
    if (!turned && goal != Goal(shape_, false)) {
      throw InputError("the goal after '->' is " + goal + ", expected " + Goal(shape_, false) +
                       " or " + Goal(shape_, true));
    }
  }
  ReadTiles(text.substr(0, arrow), shape_, state);
  const bool has_one_goal = HasOneGoal(shape_);
  if (arrow == text.size() && has_one_goal) turned = !IsSolvable(state, shape_);
  if (turned) {
    std::ranges::reverse(state);
    for (std::uint8_t& tile : state) {
      if (tile != 0) tile = static_cast<std::uint8_t>(cells_ - tile);
    }
  }
  if (IsSolvable(state, shape_)) return turned;
  throw InputError("two tiles are swapped: no slides lead to the goal " + Goal(shape_, turned) +
                   (has_one_goal ? "; is it " + Goal(shape_, !turned) + "?" : "") +
                   "; check the numbers, or take any two tiles out of the board and exchange them");
}

void NPuzzle::ParseState(std::string_view text, std::span<std::uint8_t> state) const {
  Read(text, state);
}

std::vector<Action> NPuzzle::ParseMoves(std::string_view moves, std::string_view start) const {
  const std::vector<Action> actions = ParseActions(spec(), moves);
  return IsTurned(start) ? Turned(actions) : actions;
}

std::string NPuzzle::FormatMoves(std::span<const Action> actions, std::string_view start) const {
  return IsTurned(start) ? FormatActions(spec(), Turned(actions)) : FormatActions(spec(), actions);
}

std::string NPuzzle::Reading(std::string_view text) const {
  if (IsTurned(text)) {
    return "the goal is " + Goal(shape_, true) +
           "; the board is turned by 180 degrees for the search, but moves are named as it was "
           "written";
  }
  if (HasOneGoal(shape_) || text.find(kArrow) != std::string_view::npos) return "";
  return "the goal is " + Goal(shape_, false) + "; if it is " + Goal(shape_, true) +
         ", write each state as STATE -> " + Goal(shape_, true);
}

std::string NPuzzle::FormatState(std::span<const std::uint8_t> state) const {
  return FormatNumbers(state);
}

Picture NPuzzle::Draw(std::span<const std::uint8_t> state) const {
  constexpr std::int32_t kWood = 0xe8c88c;
  Picture picture{.unit_width = 3};
  for (int cell = 0; cell < cells_; ++cell) {
    const bool blank = state[cell] == 0;
    const int row = cell / shape_.columns;
    picture.cells.push_back({.x = static_cast<float>(cell % shape_.columns),
                             .y = static_cast<float>(row),
                             .text = blank ? "" : std::to_string(state[cell]),
                             .colour = blank ? Cell::kPlain : kWood,
                             .without_colour = blank ? "." : ""});
  }
  return picture;
}

std::unique_ptr<const Domain> Make(const std::string& argument) {
  const std::optional<BoardShape> shape = ParseBoardShape(argument, kMinSize, kMaxSize);
  return shape ? std::make_unique<const NPuzzle>(*shape) : nullptr;
}

TANDEM_REGISTER_DOMAIN(npuzzle,
                       DomainParameter{
                           .key = "size",
                           .meaning = "cells along a side of the board, or rows and columns",
                           .expected = "a whole number from 2 to 7, or sides that differ: 3x5",
                           .default_value = "4"},
                       Make);

}  // namespace
}  // namespace tandem
