#include "search/known_costs.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "search/costs.h"
#include "search/hash_set.h"

namespace tandem {

KnownCosts::KnownCosts(const Domain& domain, std::shared_ptr<const GoalBall> ball)
    : domain_(domain),
      ball_(std::move(ball)),
      least_unknown_(ball_ != nullptr ? ball_->least_cost_outside() : 0) {}

float KnownCosts::CostOf(std::span<const std::uint8_t> state, std::uint64_t hash,
                         bool is_goal) const {
  constexpr float kUnknown = std::numeric_limits<float>::infinity();
  if (ball_ == nullptr) return is_goal ? 0 : kUnknown;
  if (const std::optional<float> cost = ball_->CostOf(state, hash)) return *cost;
  if (is_goal) RefuseSecondGoal(domain_, state);
  return kUnknown;
}

float KnownCosts::CostOf(std::span<const std::uint8_t> state, bool is_goal) const {
  return CostOf(state, ball_ != nullptr ? HashState(state) : 0, is_goal);
}

float KnownCosts::CostToGo(float known, float estimate) const {
  if (!std::isinf(known)) return known;
  return std::max(tandem::CostToGo(estimate), least_unknown_);
}

}  // namespace tandem
