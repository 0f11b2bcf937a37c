#include "domain/random_walks.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>

#include "tandem/error.h"

namespace tandem {

float UndoCost(const DomainSpec& spec, Action action) {
  if (spec.inverse_actions.empty()) return std::numeric_limits<float>::infinity();
  return spec.action_costs[spec.inverse_actions[action]];
}

void RandomWalks::Begin(std::span<const Random> randoms, std::span<const std::int64_t> lengths) {
  const DomainSpec& spec = domain_.spec();
  const std::size_t size = lengths.size();
  const auto num_actions = static_cast<std::size_t>(spec.num_actions());
  std::vector<std::uint32_t> order(size);  // the walk at each place
  std::iota(order.begin(), order.end(), 0U);
  const auto length_of = [&](std::uint32_t walk) { return lengths[walk]; };
  if (!std::ranges::is_sorted(lengths, std::greater())) {
    std::ranges::stable_sort(order, std::greater(), length_of);
  }
  places_.resize(size);
  lengths_.resize(size);
  randoms_.clear();
  for (std::uint32_t place = 0; place < size; ++place) {
    places_[order[place]] = place;
    lengths_[place] = lengths[order[place]];
    randoms_.push_back(randoms[order[place]]);
  }
  states_.resize(size * row_size());
  numbers_.resize(size);
  if (spec.per_problem_goals) {
    std::ranges::transform(randoms_, numbers_.begin(), &Random::Next);
    domain_.DrawGoals(rows(), numbers_);
  } else {
    domain_.WriteGoals(rows());
  }
  back_.assign(size, std::nullopt);
  cost_back_.assign(size, 0.0F);
  next_.resize(size);
  can_move_.assign(size, 1);
  applies_.resize(spec.masks_actions ? size * num_actions : 0);
  order_.clear();
  for (std::size_t i = 0; kind_ == WalkKind::kDistinctActions && i < size * num_actions; ++i) {
    order_.push_back(static_cast<Action>(i % num_actions));
  }
  steps_ = 0;
  is_drawn_ = false;
  walking_ = size;
  ForgetEnded();
}

void RandomWalks::ForgetEnded() {
  while (walking_ > 0 && lengths_[walking_ - 1] <= steps_) --walking_;
}

bool RandomWalks::Step() {
  if (walking_ == 0) return false;
  if (domain_.spec().inverse_actions.empty()) {
    StepBack();
  } else {
    StepByActions();
  }
  ++steps_;
  ForgetEnded();
  return true;
}

void RandomWalks::StepBack() {
  const DomainSpec& spec = domain_.spec();
  Random::DrawAhead(std::span(randoms_).first(walking_));
  for (std::size_t i = 0; i < walking_; ++i) numbers_[i] = randoms_[i].Next();
  stepped_.resize(walking_);
  domain_.StepBack(rows().Slice(0, walking_), std::span(numbers_).first(walking_), stepped_);
  for (std::size_t i = 0; i < walking_; ++i) {
    if (!stepped_[i]) continue;
    if (*stepped_[i] >= spec.num_actions()) {
      throw Error(fmt::format("domain '{}': StepBack returned {}, expected an action, from 0 to {}",
                              spec.name, *stepped_[i], spec.num_actions() - 1));
    }
    back_[i] = stepped_[i];
    cost_back_[i] += spec.action_costs[*back_[i]];
  }
}

void RandomWalks::StepByActions() {
  const DomainSpec& spec = domain_.spec();
  DrawActions();
  is_drawn_ = false;
  if (kind_ == WalkKind::kDistinctActions && steps_ >= spec.num_actions()) return;
  domain_.Apply(rows().Slice(0, walking_), std::span(next_).first(walking_));
  const std::span inverses = spec.inverse_actions;
  const std::span costs = spec.action_costs;
  const std::span next = std::span(next_).first(walking_);
  const std::span backs = back_;
  const std::span costs_back = cost_back_;
  const std::span can_move = can_move_;
  for (std::size_t i = 0; i < next.size(); ++i) {
    if (can_move[i] == 0) continue;
    const Action back = inverses[next[i]];
    backs[i] = back;
    costs_back[i] += costs[back];
  }
}

void RandomWalks::DrawActions() {
  if (is_drawn_) return;
  is_drawn_ = true;
  const std::span randoms = std::span(randoms_).first(walking_);
  Random::DrawAhead(randoms);
  if (kind_ == WalkKind::kDistinctActions) return DrawFromRemaining();
  if (!applies_.empty()) return DrawFromApplicable();
  const int num_actions = domain_.spec().num_actions();
  const std::span next = next_;  // so that the loop does not load the members again
  const std::span backs = back_;
  for (std::size_t i = 0; i < randoms.size(); ++i) {
    next[i] = DrawStep(randoms[i], num_actions, backs[i]);
  }
}

void RandomWalks::DrawFromRemaining() {
  const auto num_actions = static_cast<std::size_t>(domain_.spec().num_actions());
  const auto taken = static_cast<std::size_t>(steps_);
  if (taken >= num_actions) {
    std::ranges::fill(can_move_, std::uint8_t{0});
    return;
  }
  for (std::size_t i = 0; i < walking_; ++i) {
    const std::span<Action> order = std::span(order_).subspan(i * num_actions, num_actions);
    PartialShuffle(order, taken, taken + 1, randoms_[i]);
    next_[i] = order[taken];
  }
}

// Gives a walk that cannot move action 0, which does not apply either, so it changes nothing. The
// inner loop has no branches, because nothing predicts which actions apply.
void RandomWalks::DrawFromApplicable() {
  const auto num_actions = static_cast<std::size_t>(domain_.spec().num_actions());
  domain_.Mask(rows().Slice(0, walking_), std::span(applies_).first(walking_ * num_actions));
  for (std::size_t i = 0; i < walking_; ++i) {
    const auto applies = std::span(applies_).subspan(i * num_actions, num_actions);
    auto choices = static_cast<std::uint64_t>(std::ranges::count(applies, 1));
    const bool skip = back_[i] && applies[*back_[i]] != 0 && choices > 1;
    const std::size_t skipped = skip ? *back_[i] : num_actions;
    choices -= skip ? 1 : 0;
    can_move_[i] = choices > 0 ? 1 : 0;
    next_[i] = 0;
    if (choices == 0) continue;
    const std::uint64_t chosen = randoms_[i].Below(choices);
    std::uint64_t seen = 0;
    std::size_t next = 0;
    for (std::size_t action = 0; action < num_actions; ++action) {
      seen += action == skipped ? 0 : applies[action];
      next += seen <= chosen ? 1 : 0;
    }
    next_[i] = static_cast<Action>(next);
  }
}

std::span<const Action> RandomWalks::taken(std::size_t i) const {
  const auto num_actions = static_cast<std::size_t>(domain_.spec().num_actions());
  const std::size_t place = places_[i];
  const auto taken = static_cast<std::size_t>(std::min(steps_, lengths_[place]));
  return std::span(order_).subspan(place * num_actions, std::min(taken, num_actions));
}

void WalkFromGoals(const Domain& domain, std::span<const Random> randoms,
                   std::span<const std::int64_t> lengths, Rows states,
                   std::span<float> costs_back) {
  RandomWalks walks(domain);
  walks.Begin(randoms, lengths);
  while (walks.Step()) {
  }
  for (std::size_t i = 0; i < states.size(); ++i) {
    std::ranges::copy(walks.state(i), states[i].begin());
    costs_back[i] = walks.cost_back(i);
  }
}

float WalkFromGoal(const Domain& domain, Random random, std::int64_t length,
                   std::span<std::uint8_t> state) {
  float cost_back = 0;
  WalkFromGoals(domain, {&random, 1}, {&length, 1}, Rows(state), {&cost_back, 1});
  return cost_back;
}

std::int64_t DrawScrambleLength(Random& random, std::int64_t max_length) {
  return static_cast<std::int64_t>(random.Below(static_cast<std::uint64_t>(max_length) + 1));
}

}  // namespace tandem
