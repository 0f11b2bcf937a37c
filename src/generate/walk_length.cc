#include "generate/walk_length.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "generate/path_labels.h"
#include "tandem/error.h"

namespace tandem {

WalkLengthGenerator::WalkLengthGenerator(const Domain& domain, const Config& config,
                                         std::shared_ptr<const ExactLabels> exact)
    : WalkGenerator(domain, config, WalkKind::kNoStepBack, std::move(exact)),
      head_(config.network.head) {
  if (IsQ(head_) && domain.spec().inverse_actions.empty()) {
    throw InputError(fmt::format(
        "generate.target: walk_length with network.head {} needs actions that can be undone, and "
        "{} has some that cannot; set generate.target to {}, or network.head to v",
        NameOf(kHeads, head_), domain.spec().name,
        TakesAction(head_) ? "q_learning" : "value_iteration"));
  }
}

// The cost of the walk's next step and of the way back from there.
float WalkLengthGenerator::CostOfNext(const RandomWalk& walk, Action next) const {
  const DomainSpec& spec = domain().spec();
  return spec.action_costs[next] + UndoCost(spec, next) + walk.cost_back();
}

std::optional<Action> WalkLengthGenerator::WriteLabel(RandomWalk& walk, Random random,
                                                      std::span<float> label,
                                                      std::span<float> weight) const {
  if (ValuesStates(head_)) {
    label[0] = walk.cost_back();
    return std::nullopt;
  }
  if (TakesAction(head_)) return LabelOneAction(walk, random, label[0]);
  const auto set = [&](Action action, float value) {
    label[action] = value;
    weight[action] = 1;
  };
  if (const std::optional<Action> next = walk.NextAction()) set(*next, CostOfNext(walk, *next));
  for (const Action idle : IdleActions(domain(), walk.state())) {
    set(idle, domain().spec().action_costs[idle] + walk.cost_back());
  }
  // In a dead end the next step is the step back, and the shorter way counts.
  if (walk.back()) set(*walk.back(), walk.cost_back());
  return std::nullopt;
}

// Labels the walk's last step undone, its next step or, if there is one, an idle action.
Action WalkLengthGenerator::LabelOneAction(RandomWalk& walk, Random random, float& label) const {
  const std::optional<Action> next = walk.NextAction();
  const bool has_next = next && next != walk.back();
  const std::vector<Action> idle = IdleActions(domain(), walk.state());
  if (!idle.empty() && random.Below(3) == 0) {
    const Action action = idle[random.Below(idle.size())];
    label = domain().spec().action_costs[action] + walk.cost_back();
    return action;
  }
  if (walk.back() && (!has_next || random.Below(2) == 0)) {
    label = walk.cost_back();
    return *walk.back();
  }
  if (has_next) {
    label = CostOfNext(walk, *next);
    return *next;
  }
  // The walk cannot leave the goal, so no action applies, and each leads to the goal again.
  label = domain().spec().action_costs[0];
  return 0;
}

}  // namespace tandem
