// Evaluators of games, and games by name.
#pragma once

#include <algorithm>
#include <array>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "support/head_evaluator.h"
#include "tandem/error.h"
#include "tandem/game.h"
#include "tandem/registry.h"

namespace tandem {

/// Makes a registered domain that is a game.
inline std::unique_ptr<const GameDomain> MakeGame(const std::string& name) {
  std::unique_ptr<const Domain> domain = MakeDomain(name);
  const GameDomain* const game = AsGame(*domain);
  if (game == nullptr) throw Error(name + " is no game");
  static_cast<void>(domain.release());
  return std::unique_ptr<const GameDomain>(game);
}

/// Returns the state that `text` means, or the start of the game if it is "".
inline std::vector<std::uint8_t> PositionOf(const Domain& game, const std::string& text) {
  std::vector<std::uint8_t> state(static_cast<std::size_t>(game.spec().state_size));
  if (text.empty()) {
    game.WriteGoals(Rows(std::span(state)));
  } else {
    game.ParseState(text, state);
  }
  return state;
}

/// Returns the position of a board game whose input is `input`, with `own`, X or O, to move.
inline std::vector<std::uint8_t> PositionWithInput(const Domain& game,
                                                   std::span<const std::uint8_t> input, char own) {
  const auto columns = static_cast<std::size_t>(game.spec().board.value().columns);
  const std::array letters = {'.', own, own == 'X' ? 'O' : 'X'};
  std::string text;
  for (std::size_t cell = 0; cell < input.size(); ++cell) {
    if (cell > 0 && cell % columns == 0) text += '/';
    text += letters[input[cell]];
  }
  if (game.spec().name.starts_with("othello")) text += std::string(" ") + own;
  return PositionOf(game, text);
}

/// FlatEvaluator knows nothing: every position is a draw, and every action equally probable.
class FlatEvaluator : public HeadEvaluator {
 public:
  FlatEvaluator() : HeadEvaluator(Head::kVp) {}
  void Evaluate(ConstRows inputs, std::span<float> values) override {
    rows_ += inputs.size();
    std::ranges::fill(values, 1.0F);
  }
  void EvaluateActions(ConstRows /*inputs*/, std::span<float> values) override {
    std::ranges::fill(values, 1.0F);
  }
  bool rows_are_independent() const override { return true; }
  std::size_t rows() const { return rows_; }

 private:
  std::size_t rows_ = 0;
};

/// OpinionatedEvaluator gives values and policies that depend on the input, as a network does.
class OpinionatedEvaluator final : public FlatEvaluator {
 public:
  void Evaluate(ConstRows inputs, std::span<float> values) override {
    for (std::size_t i = 0; i < inputs.size(); ++i) values[i] = 0.5F + Number(inputs[i], 0);
  }
  void EvaluateActions(ConstRows inputs, std::span<float> values) override {
    const std::size_t actions = values.size() / std::max<std::size_t>(inputs.size(), 1);
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = 1 + 2 * Number(inputs[i / actions], i % actions);
    }
  }

 private:
  // From 0 to 1.
  static float Number(std::span<const std::uint8_t> input, std::size_t salt) {
    std::uint32_t hash = 2'166'136'261U + static_cast<std::uint32_t>(salt);
    for (const std::uint8_t byte : input) hash = (hash ^ byte) * 16'777'619U;
    return static_cast<float>(hash >> 8) / static_cast<float>(1U << 24);
  }
};

}  // namespace tandem
