// Lights Out: pressing a cell switches it and its neighbours above, below, left
// and right. The goal is to switch all lights off. A press is its own inverse.
#include <algorithm>
#include <bitset>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tandem/error.h"
#include "tandem/registry.h"
#include "tandem/state_text.h"

namespace tandem {
namespace {

constexpr int kMinSize = 2;
constexpr int kMaxSize = 9;
using Cells = std::bitset<std::size_t{kMaxSize} * kMaxSize>;

DomainSpec Spec(BoardShape shape) {
  DomainSpec spec{.name = "lights_out:" + FormatBoardShape(shape),
                  .summary =
                      "Lights Out; a state is the cells row by row, 1 for lit; a move is the "
                      "number of the cell pressed, from 0",
                  .state_size = shape.cells(),
                  .input = {.positions = shape.cells(), .depth = 2},
                  .board = shape};
  for (int cell = 0; cell < shape.cells(); ++cell) {
    spec.action_names.push_back(std::to_string(cell));
    spec.inverse_actions.push_back(static_cast<Action>(cell));
  }
  return spec;
}

// For each cell, the cells that pressing it switches.
std::vector<std::vector<std::uint8_t>> Switched(BoardShape shape) {
  std::vector<std::vector<std::uint8_t>> switched;
  for (int cell = 0; cell < shape.cells(); ++cell) {
    const int row = cell / shape.columns;
    const int column = cell % shape.columns;
    std::vector<std::uint8_t>& cells = switched.emplace_back();
    cells.push_back(static_cast<std::uint8_t>(cell));
    if (row > 0) cells.push_back(static_cast<std::uint8_t>(cell - shape.columns));
    if (row + 1 < shape.rows) cells.push_back(static_cast<std::uint8_t>(cell + shape.columns));
    if (column > 0) cells.push_back(static_cast<std::uint8_t>(cell - 1));
    if (column + 1 < shape.columns) cells.push_back(static_cast<std::uint8_t>(cell + 1));
  }
  return switched;
}

// A basis of the quiet patterns, sets of presses that together switch nothing, by Gaussian
// elimination. The relation "pressing i switches j" is symmetric. A state can therefore be solved
// if and only if it has an even number of lights in common with each quiet pattern.
std::vector<Cells> QuietPatterns(const std::vector<std::vector<std::uint8_t>>& switched) {
  // The cells that are switched, and the presses that switch them.
  std::vector<std::pair<Cells, Cells>> rows;
  std::vector<Cells> patterns;
  for (std::size_t cell = 0; cell < switched.size(); ++cell) {
    std::pair<Cells, Cells> row;
    for (const std::uint8_t light : switched[cell]) row.first.set(light);
    row.second.set(cell);
    for (const auto& [lights, presses] : rows) {
      if (!row.first[lights._Find_first()]) continue;
      row.first ^= lights;
      row.second ^= presses;
    }
    if (row.first.none()) {
      patterns.push_back(row.second);
    } else {
      rows.push_back(row);
    }
  }
  return patterns;
}

class LightsOut final : public Domain {
 public:
  explicit LightsOut(BoardShape shape)
      : Domain(Spec(shape)),
        shape_(shape),
        switched_(Switched(shape)),
        quiet_patterns_(QuietPatterns(switched_)) {}

  void WriteGoals(Rows states) const override { std::ranges::fill(states.bytes(), 0); }

  void Apply(Rows states, std::span<const Action> actions) const override {
    for (std::size_t i = 0; i < states.size(); ++i) Press(states[i].data(), actions[i]);
  }

  void Expand(ConstRows states, Rows children) const override {
    for (std::size_t i = 0; i < children.size(); ++i) {
      std::ranges::copy(states[i / switched_.size()], children[i].begin());
      Press(children[i].data(), static_cast<Action>(i % switched_.size()));
    }
  }

  void IsGoal(ConstRows states, std::span<std::uint8_t> is_goal) const override {
    for (std::size_t i = 0; i < states.size(); ++i) {
      is_goal[i] = std::ranges::find(states[i], 1) == states[i].end() ? 1 : 0;
    }
  }

  void ParseState(std::string_view text, std::span<std::uint8_t> state) const override {
    ParseNumbers(text, 2, state);
    const auto lit_in = [&](const Cells& presses) {
      std::size_t lit = 0;
      for (std::size_t cell = 0; cell < state.size(); ++cell) {
        lit += presses[cell] && state[cell] != 0 ? 1 : 0;
      }
      return lit;
    };
    const auto is_even = [&](const Cells& pattern) { return lit_in(pattern) % 2 == 0; };
    if (std::ranges::all_of(quiet_patterns_, is_even)) return;
    throw InputError("no presses switch off all lights of this board; check the cells");
  }

  std::string FormatState(std::span<const std::uint8_t> state) const override {
    return FormatNumbers(state);
  }

  Picture Draw(std::span<const std::uint8_t> state) const override {
    Picture picture{.unit_width = 4};
    for (int cell = 0; cell < shape_.cells(); ++cell) {
      const int row = cell / shape_.columns;
      picture.cells.push_back(
          {.x = static_cast<float>(cell % shape_.columns),
           .y = static_cast<float>(row),
           .text = std::to_string(cell),
           .colour = state[cell] != 0 ? 0xffd84d : 0x3a3f4b,
           .without_colour = (state[cell] != 0 ? "*" : "") + std::to_string(cell)});
    }
    return picture;
  }

 private:
  void Press(std::uint8_t* state, Action cell) const {
    for (const std::uint8_t light : switched_[cell]) state[light] ^= 1;
  }

  const BoardShape shape_;
  const std::vector<std::vector<std::uint8_t>> switched_;  // by press
  const std::vector<Cells> quiet_patterns_;
};

std::unique_ptr<const Domain> Make(const std::string& argument) {
  const std::optional<BoardShape> shape = ParseBoardShape(argument, kMinSize, kMaxSize);
  return shape ? std::make_unique<const LightsOut>(*shape) : nullptr;
}

TANDEM_REGISTER_DOMAIN(lights_out,
                       DomainParameter{
                           .key = "size",
                           .meaning = "cells along a side of the board, or rows and columns",
                           .expected = "a whole number from 2 to 9, or sides that differ: 3x5",
                           .default_value = "7"},
                       Make);

}  // namespace
}  // namespace tandem
