#include "search/beam_paths.h"

#include <algorithm>

namespace tandem {

std::span<const BeamPaths::Step> BeamPaths::last_steps() const {
  if (steps_.empty()) return {};
  return steps_.back();
}

std::vector<Action> BeamPaths::PathBy(Step step, std::size_t depth) const {
  std::vector<Action> actions = {step.action};
  while (depth-- > 0) {
    step = steps_[depth][step.parent];
    actions.push_back(step.action);
  }
  std::ranges::reverse(actions);
  return actions;
}

std::vector<Action> BeamPaths::PathTo(std::size_t index, std::size_t depth) const {
  if (depth == 0) return {};
  return PathBy(steps_[depth - 1][index], depth - 1);
}

}  // namespace tandem
