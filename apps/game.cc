#include "apps/game.h"

#include <algorithm>
#include <utility>

namespace tandem {

Game::Game(const Domain& domain, std::vector<std::uint8_t> start)
    : domain_(domain), state_(std::move(start)) {}

float Game::cost() const {
  float cost = 0;
  for (const PastMove& move : history_) cost += move.cost;
  return cost;
}

std::size_t Game::Move(std::span<const Action> actions) {
  for (std::size_t i = 0; i < actions.size(); ++i) {
    if (!Applies(actions[i])) return i;
    history_.push_back({.before = state_, .cost = domain_.spec().action_costs[actions[i]]});
    domain_.Apply(Rows(std::span(state_)), {&actions[i], 1});
  }
  return actions.size();
}

std::size_t Game::Undo(std::size_t count) {
  count = std::min(count, history_.size());
  for (std::size_t i = 0; i < count; ++i) {
    state_ = std::move(history_.back().before);
    history_.pop_back();
  }
  return count;
}

void Game::Start(std::vector<std::uint8_t> start) {
  state_ = std::move(start);
  history_.clear();
}

bool Game::Applies(Action action) const {
  std::vector<std::uint8_t> applies(static_cast<std::size_t>(domain_.spec().num_actions()));
  domain_.Mask(ConstRows(state()), applies);
  return applies[action] != 0;
}

}  // namespace tandem
