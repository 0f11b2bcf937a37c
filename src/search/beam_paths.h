// The paths of a beam search.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "tandem/domain.h"

namespace tandem {

/// BeamPaths holds the paths to all states that a beam search has kept, as the last step of each. A
/// path begins at a state of depth 0. Such a state has no step, so nothing is stored for it.
class BeamPaths {
 public:
  /// The last step of a path: `action` in state `parent` of those kept one depth before.
  struct Step {
    std::uint32_t parent;
    Action action;
  };

  /// The last step of the path to child `child`, as Expander numbers the children of the states
  /// kept last. Divides 32-bit numbers, which takes half the time of dividing 64-bit ones.
  static Step StepTo(std::size_t child, int num_actions) {
    const auto index = static_cast<std::uint32_t>(child);
    const auto actions = static_cast<std::uint32_t>(num_actions);
    return {.parent = index / actions, .action = static_cast<Action>(index % actions)};
  }

  void Clear() { steps_.clear(); }

  /// Adds the states that were kept at the next depth.
  void Add(std::vector<Step> steps) { steps_.push_back(std::move(steps)); }

  /// The depth of the states that were added last, 0 if there are none.
  std::size_t depth() const { return steps_.size(); }

  /// The last steps of the paths to the states of the current depth. Empty at depth 0.
  std::span<const Step> last_steps() const;

  /// The actions of the path that ends with `step`, from a state that was kept at `depth`.
  std::vector<Action> PathBy(Step step, std::size_t depth) const;

  /// The actions of the path to state `index` of those kept at `depth`.
  std::vector<Action> PathTo(std::size_t index, std::size_t depth) const;

 private:
  std::vector<std::vector<Step>> steps_;  // steps_[d] belongs to depth d + 1
};

}  // namespace tandem
