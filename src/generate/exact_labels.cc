#include "generate/exact_labels.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/random.h"
#include "data/examples.h"
#include "domain/random_walk.h"
#include "tandem/error.h"

namespace tandem {

ExactLabels::ExactLabels(const Domain& domain, const Config& config,
                         std::shared_ptr<const GoalBall> ball)
    : domain_(domain),
      head_(config.network.head),
      share_(config.generate.anchor_share),
      seed_(static_cast<std::uint64_t>(config.seed)),
      ball_(std::move(ball)) {}

bool ExactLabels::Write(std::span<const std::uint8_t> state, DataBuffer& examples,
                        std::size_t row) const {
  const std::optional<float> cost = ball_->CostOf(state);
  if (!cost) return false;
  const std::size_t width = examples.schema().columns[kTargetColumn].width;
  const std::span<float> label = examples.floats(kTargetColumn).subspan(row * width, width);
  if (HasWeights(examples.schema())) {
    std::ranges::fill(examples.floats(kWeightColumn).subspan(row * width, width), 1.0F);
  }
  if (head_ == Head::kV) {
    label[0] = *cost;
    return true;
  }
  const DomainSpec& spec = domain_.spec();
  std::vector<std::uint8_t> memory(label.size() * state.size());
  const Rows children(memory.data(), label.size(), state.size());
  domain_.Expand(ConstRows(state), children);
  for (std::size_t a = 0; a < label.size(); ++a) {
    const float further = *cost + UndoCost(spec, static_cast<Action>(a));
    label[a] = spec.action_costs[a] + ball_->CostOf(children[a]).value_or(further);
  }
  return true;
}

std::optional<std::size_t> ExactLabels::Anchor(std::int64_t update, std::int64_t row) const {
  if (share_ == 0) return std::nullopt;
  Random random(seed_, Purpose::kAnchor, static_cast<std::uint64_t>(update),
                static_cast<std::uint64_t>(row));
  if (random.Share() >= share_) return std::nullopt;
  return static_cast<std::size_t>(random.Below(ball_->size()));
}

std::shared_ptr<const ExactLabels> MakeExactLabels(const Domain& domain, const Config& config) {
  auto ball = MakeGoalBall(domain, config.generate.ball_radius, config.memory);
  if (ball == nullptr) return nullptr;
  if (ball->limited()) {
    throw InputError(fmt::format(
        "`generate.ball_radius: {:g}`: the ball would take more memory than "
        "memory.ball_limit_gib ({:g}); radius {:g} fits. Lower generate.ball_radius to that, or "
        "raise memory.ball_limit_gib.",
        config.generate.ball_radius, config.memory.ball_limit_gib, ball->radius()));
  }
  return std::make_shared<const ExactLabels>(domain, config, std::move(ball));
}

}  // namespace tandem
