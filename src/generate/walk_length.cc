#include "generate/walk_length.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "tandem/error.h"

namespace tandem {

WalkLengthGenerator::WalkLengthGenerator(const Domain& domain, const Config& config,
                                         std::shared_ptr<const ExactLabels> exact)
    : WalkGenerator(domain, config, WalkKind::kNoStepBack, std::move(exact)),
      head_(config.network.head) {
  if (head_ == Head::kQ && domain.spec().inverse_actions.empty()) {
    throw InputError(
        "generate.target: walk_length with network.head q needs actions that can be undone, and " +
        domain.spec().name +
        " has some that cannot; set generate.target to value_iteration, or network.head to v");
  }
}

void WalkLengthGenerator::WriteLabel(RandomWalk& walk, std::span<float> label,
                                     std::span<float> weight) const {
  if (head_ == Head::kV) {
    label[0] = walk.cost_back();
    return;
  }
  std::ranges::fill(label, 0.0F);
  std::ranges::fill(weight, 0.0F);
  const auto set = [&](Action action, float value) {
    label[action] = value;
    weight[action] = 1;
  };
  const DomainSpec& spec = domain().spec();
  if (const std::optional<Action> next = walk.NextAction()) {
    set(*next, spec.action_costs[*next] + UndoCost(spec, *next) + walk.cost_back());
  }
  // In a dead end the next step is the step back, and the shorter way counts.
  if (walk.back()) set(*walk.back(), walk.cost_back());
}

}  // namespace tandem
