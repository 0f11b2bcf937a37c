// Helpers for tests of cubes: states as text, and the errors for invalid ones.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "domain/moves.h"
#include "tandem/error.h"
#include "tandem/registry.h"

namespace tandem {

class FaceletCube : public testing::Test {
 protected:
  FaceletCube(const std::string& name, std::string solved)
      : cube_(MakeDomain(name)), solved_(std::move(solved)) {}

  std::vector<std::uint8_t> Goal() const { return GoalOf(*cube_); }

  static void Move(const Domain& cube, std::vector<std::uint8_t>& state, std::string_view moves) {
    for (const Action action : ParseActions(cube.spec(), moves)) {
      cube.Apply(Rows(std::span(state)), {&action, 1});
    }
  }

  std::string AfterMoves(std::string_view moves, int times = 1) const {
    std::vector<std::uint8_t> state = Goal();
    for (int i = 0; i < times; ++i) Move(*cube_, state, moves);
    return cube_->FormatState(state);
  }

  // The parse error for a cube; "" if turns can solve it.
  std::string ErrorFor(const std::string& text) const {
    std::vector<std::uint8_t> state = Goal();
    try {
      cube_->ParseState(text, state);
    } catch (const InputError& error) {
      return error.what();
    }
    return "";
  }

  // The solved cube after exchanging these pairs of facelets one after another. Facelets count from
  // 0.
  std::string Exchanged(std::initializer_list<std::pair<std::size_t, std::size_t>> pairs) const {
    std::string text = solved_;
    for (const auto& [a, b] : pairs) std::swap(text[a], text[b]);
    return text;
  }

  const std::unique_ptr<const Domain> cube_;
  const std::string solved_;
};

}  // namespace tandem
