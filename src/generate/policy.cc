#include "generate/policy.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "domain/moves.h"
#include "tandem/error.h"

namespace tandem {

WalkKind WalkKindOfActions(const Domain& domain, const GenerateConfig& config) {
  if (!CommuteAndUndoThemselves(domain)) return WalkKind::kNoStepBack;
  const int num_actions = domain.spec().num_actions();
  if (config.max_scramble <= num_actions) return WalkKind::kDistinctActions;
  throw InputError(fmt::format(
      "`generate.max_scramble: {}`: the actions of {} commute and undo themselves, so a walk whose "
      "actions are labels takes each of them at most once; expected at most {}, the number of "
      "actions. Lower generate.max_scramble.",
      config.max_scramble, domain.spec().name, num_actions));
}

PolicyGenerator::PolicyGenerator(const Domain& domain, const Config& config,
                                 std::shared_ptr<const ExactLabels> exact)
    : PolicyGenerator(domain, config, WalkKindOfActions(domain, config.generate),
                      std::move(exact)) {}

PolicyGenerator::PolicyGenerator(const Domain& domain, const Config& config, WalkKind kind,
                                 std::shared_ptr<const ExactLabels> exact)
    : WalkGenerator(domain, config, kind, std::move(exact)),
      kind_(kind),
      has_value_(EstimatesCosts(config.network.head)) {}

std::optional<Action> PolicyGenerator::WriteLabel(RandomWalk& walk, Random /*random*/,
                                                  std::span<float> label,
                                                  std::span<float> /*weight*/) const {
  if (has_value_) {
    label[0] = walk.cost_back();
    label = label.subspan(1);
  }
  if (kind_ == WalkKind::kDistinctActions) {
    for (const Action action : walk.taken()) {
      label[action] = 1 / static_cast<float>(walk.taken().size());
    }
  } else if (walk.back() && UndoHasEffect(walk)) {
    label[*walk.back()] = 1;
  }
  return std::nullopt;
}

// Whether the action that undoes the walk's last step changes the state.
bool PolicyGenerator::UndoHasEffect(const RandomWalk& walk) const {
  const Action undo = *walk.back();
  std::vector<std::uint8_t> state(walk.state().begin(), walk.state().end());
  domain().Apply(Rows(std::span(state)), {&undo, 1});
  return !std::ranges::equal(state, walk.state());
}

}  // namespace tandem
