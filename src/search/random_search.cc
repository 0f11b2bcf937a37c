#include "search/random_search.h"

#include <fmt/format.h>

#include <vector>

#include "base/random.h"
#include "base/stop_signal.h"

namespace tandem {

void RandomSearch::SolveAll(const ProblemBatch& problems, const StopSignal& stop,
                            const Done& done) {
  const auto num_actions = static_cast<std::uint64_t>(domain_.spec().num_actions());
  for (std::size_t i = 0; i < problems.size(); ++i) {
    Random random(seed_, Purpose::kAction, 0, i);
    std::vector<std::uint8_t> state(problems.states[i].begin(), problems.states[i].end());
    SearchResult result{.solved = IsGoal(domain_, state), .stop_reason = StopReason::kLengthLimit};
    while (!result.solved && std::ssize(result.actions) < config_.max_length) {
      if (stop.Reached()) throw Stopped();
      const auto action = static_cast<Action>(random.Below(num_actions));
      domain_.Apply(Rows(std::span(state)), {&action, 1});
      result.actions.push_back(action);
      ++result.nodes;
      result.solved = IsGoal(domain_, state);
    }
    if (result.solved) {
      result.stop_reason = StopReason::kSolved;
      result.cost = CostOf(domain_.spec(), result.actions);
    } else {
      result.actions.clear();
    }
    done(i, std::move(result));
  }
}

std::string RandomSearch::Failure(const SearchResult& /*result*/) const {
  return fmt::format("no goal among {} random actions; raise search.max_length",
                     config_.max_length);
}

}  // namespace tandem
