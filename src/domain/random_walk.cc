#include "domain/random_walk.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "tandem/error.h"

namespace tandem {

float UndoCost(const DomainSpec& spec, Action action) {
  if (spec.inverse_actions.empty()) return std::numeric_limits<float>::infinity();
  return spec.action_costs[spec.inverse_actions[action]];
}

Action DrawStep(Random& random, int num_actions, std::optional<Action> back) {
  const auto all = static_cast<std::uint64_t>(num_actions);
  const bool skip = back.has_value() && all > 1;
  const auto action = static_cast<Action>(random.Below(skip ? all - 1 : all));
  return skip && action >= *back ? action + 1 : action;
}

RandomWalk::RandomWalk(const Domain& domain, Random random, std::span<std::uint8_t> state,
                       WalkKind kind)
    : domain_(domain), random_(random), state_(state), kind_(kind) {
  const DomainSpec& spec = domain_.spec();
  if (spec.per_problem_goals) {
    const std::uint64_t seed = random_.Next();
    domain_.DrawGoals(Rows(state_), {&seed, 1});
  } else {
    domain_.WriteGoals(Rows(state_));
  }
  if (kind_ == WalkKind::kDistinctActions) {
    actions_.resize(static_cast<std::size_t>(spec.num_actions()));
    std::iota(actions_.begin(), actions_.end(), Action{0});
  }
  if (spec.masks_actions) applies_.resize(static_cast<std::size_t>(spec.num_actions()));
}

void RandomWalk::Step() {
  const DomainSpec& spec = domain_.spec();
  if (!spec.inverse_actions.empty()) return StepByAction();
  const std::optional<Action> back = domain_.StepBack(state_, random_.Next());
  if (!back) return;
  if (*back >= spec.num_actions()) {
    throw Error(fmt::format("domain '{}': StepBack returned {}, expected an action, from 0 to {}",
                            spec.name, *back, spec.num_actions() - 1));
  }
  back_ = back;
  cost_back_ += spec.action_costs[*back];
}

void RandomWalk::StepByAction() {
  const std::optional<Action> action = NextAction();
  drawn_ = false;
  if (!action) return;
  if (kind_ == WalkKind::kDistinctActions) ++num_taken_;
  domain_.Apply(Rows(state_), {&*action, 1});
  back_ = domain_.spec().inverse_actions[*action];
  cost_back_ += domain_.spec().action_costs[*back_];
}

std::optional<Action> RandomWalk::NextAction() {
  if (!drawn_) next_ = Draw();
  drawn_ = true;
  return next_;
}

std::optional<Action> RandomWalk::Draw() {
  if (kind_ == WalkKind::kDistinctActions) return DrawFromRemaining();
  if (applies_.empty()) return DrawStep(random_, domain_.spec().num_actions(), back_);
  return DrawFromApplicable();
}

std::optional<Action> RandomWalk::DrawFromRemaining() {
  if (num_taken_ == actions_.size()) return std::nullopt;
  PartialShuffle(std::span(actions_), num_taken_, num_taken_ + 1, random_);
  return actions_[num_taken_];
}

std::optional<Action> RandomWalk::DrawFromApplicable() {
  domain_.Mask(ConstRows(state_), applies_);
  auto choices = static_cast<std::uint64_t>(std::ranges::count(applies_, 1));
  if (back_ && applies_[*back_] != 0 && choices > 1) {
    applies_[*back_] = 0;
    --choices;
  }
  if (choices == 0) return std::nullopt;
  std::uint64_t left = random_.Below(choices);
  const auto chosen = std::ranges::find_if(
      applies_, [&](std::uint8_t applies) { return applies != 0 && left-- == 0; });
  return static_cast<Action>(chosen - applies_.begin());
}

float WalkFromGoal(const Domain& domain, Random random, std::int64_t length,
                   std::span<std::uint8_t> state) {
  RandomWalk walk(domain, random, state);
  for (std::int64_t step = 0; step < length; ++step) walk.Step();
  return walk.cost_back();
}

std::int64_t DrawScrambleLength(Random& random, std::int64_t max_length) {
  return static_cast<std::int64_t>(random.Below(static_cast<std::uint64_t>(max_length) + 1));
}

float Scramble(const Domain& domain, Random random, std::int64_t max_length,
               std::span<std::uint8_t> state) {
  const std::int64_t length = DrawScrambleLength(random, max_length);
  return WalkFromGoal(domain, random, length, state);
}

}  // namespace tandem
