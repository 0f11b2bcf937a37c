#include "domain/check_walks.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <span>
#include <vector>

#include "base/random.h"
#include "base/text.h"
#include "domain/random_walk.h"

namespace tandem {
namespace {

using State = std::span<const std::uint8_t>;

constexpr std::size_t kWalks = 60;  // also about the number of steps of the longest walk

}  // namespace

std::string CheckStepsBack(const Samples& samples) {
  if (!samples.spec().inverse_actions.empty()) return "";
  std::uint64_t random = 0;
  return samples.FirstOfStates([&](State state) -> std::string {
    random = Random(random, Purpose::kRollout).Next();
    StateBytes before(state.begin(), state.end());
    StateBytes again = before;
    const std::optional<Action> action = samples.domain().StepBack(before, random);
    const std::string told = "StepBack from " + samples.Describe(state);
    if (samples.domain().StepBack(again, random) != action || again != before) {
      return told + " differs from call to call";
    }
    if (!action) {
      return std::ranges::equal(before, state) ? "" : told + " returns nothing, yet changes it";
    }
    if (*action >= samples.num_actions()) return fmt::format("{} returns {}", told, *action);
    if (std::ranges::equal(samples.After(before, *action), state)) return "";
    return fmt::format("{} leads to {}, but action {} does not lead back from there", told,
                       samples.Describe(before), samples.spec().action_names[*action]);
  });
}

// Takes random walks, and walks back by the actions that they report.
std::string CheckScrambles(const Samples& samples) {
  StateBytes state(samples.row_size());
  for (std::size_t steps = 0; steps < kWalks; ++steps) {
    RandomWalk walk(samples.domain(), Random(3, Purpose::kScramble, 0, steps), state);
    if (!samples.IsGoal(state)) {
      return "a walk begins at a state that is not a goal: " + samples.Describe(state);
    }
    std::vector<Action> back;
    for (std::size_t i = 0; i < steps; ++i) {
      const StateBytes before(state.begin(), state.end());  // Step writes into `state`
      walk.Step();
      if (state != before && walk.back()) back.push_back(*walk.back());
    }
    const std::string told = samples.Describe(state);
    std::ranges::reverse(back);
    for (const Action action : back) state = samples.After(state, action);
    if (!samples.IsGoal(state)) {
      return fmt::format("{}: {} should undo the {} that led there, but do not lead to a goal",
                         told, FormatActions(samples.spec(), back),
                         Counted(static_cast<long long>(steps), "step"));
    }
  }
  return "";
}

// Finds puzzles in which walks meet goals only, because IsGoal is always true or because no action
// leaves the goal. Nothing can be learned from either.
std::string CheckLeaving(const Samples& samples) {
  StateBytes state(samples.row_size());
  bool moved = false;
  for (std::size_t number = 0; number < kWalks; ++number) {
    RandomWalk walk(samples.domain(), Random(4, Purpose::kScramble, 0, number), state);
    const StateBytes start = state;
    for (std::size_t steps = 0; steps < kWalks; ++steps) {
      walk.Step();
      if (!samples.IsGoal(state)) return "";
      moved = moved || state != start;
    }
  }
  const std::string told = samples.Describe(state);
  if (moved) return "IsGoal accepts every state of the walks as a goal, for example " + told;
  if (samples.spec().inverse_actions.empty()) {
    return "StepBack does not change the goal, so there is no other state: " + told;
  }
  return "no action changes the goal, so there is no other state: " + told;
}

}  // namespace tandem
