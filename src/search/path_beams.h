// Shortens solutions by beam searches between their states.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/stop_signal.h"
#include "config/config.h"
#include "search/beam_search.h"
#include "search/goal_ball.h"
#include "tandem/domain.h"
#include "tandem/evaluator.h"

namespace tandem {

/// The most actions that may replace `part` actions of a solution of `length` actions, so that it
/// gets no longer than `max_length`, or no longer than it is if it exceeds that already.
inline std::int64_t MaxPartLength(std::size_t length, std::size_t part, std::int64_t max_length) {
  return std::max(max_length, static_cast<std::int64_t>(length)) -
         static_cast<std::int64_t>(length - part);
}

/// PathBeams looks for cheaper ways between two states of a solution by beam search. A beam may be
/// wider than the one that found the solution, and a part of a solution takes fewer depths than all
/// of it. Each search drops states from which the part would cost as much as it does now.
///
/// If all actions are permutations, a sequence of actions does the same to every state. The cost
/// between two positions is then the cost-to-go of a third one: of the position from which the part
/// leads to the goal. So one network guides the search of every part. Otherwise only the parts that
/// end at the goal can be searched. A way is used only if a replay shows that it leads to the same
/// state, because a permutation may look right at the goal and wrong elsewhere if the goal has
/// equal pieces.
class PathBeams {
 public:
  /// What the searches of a pass found.
  struct Pass {
    bool shortened = false;
    /// Whether some beam was full, or not all parts were searched. If no beam was full, or memory
    /// did not suffice for those that were, wider beams find nothing else.
    bool wider_may_help = false;
    std::int64_t nodes = 0;  ///< states generated
  };

  /// The parameters are those of BeamSearch. Of config.search it follows max_length, max_gib,
  /// policy_weight, policy_actions, inverse and, if it is bidirectional_beam, method.
  PathBeams(const Domain& domain, Evaluator& network, const Config& config,
            std::shared_ptr<const GoalBall> ball = nullptr);

  /// Searches parts of a solution of `start` with beams of `width` states, long parts first, until
  /// a part becomes cheaper, all were searched, `stop` is reached, or about `max_nodes` states were
  /// generated (0: no limit). Parts that cost at most twice the ball's radius are left out, because
  /// SolutionImprover settles them. A solution of at most `max_length` actions does not exceed
  /// that.
  Pass Shorten(std::span<const std::uint8_t> start, std::vector<Action>& actions,
               std::int64_t width, const StopSignal& stop, std::int64_t max_nodes = 0,
               std::int64_t max_length = kAnyLength);

 private:
  // Actions [first, first + length) of the solution.
  struct Part {
    std::size_t first, length;
  };

  std::vector<Part> PartsOf(std::size_t length) const;
  std::optional<std::vector<Action>> CheaperWay(std::span<const std::uint8_t> start,
                                                const std::vector<Action>& actions, Part part,
                                                std::int64_t width, std::int64_t max_nodes,
                                                std::int64_t max_length, const StopSignal& stop,
                                                Pass& pass);

  const Domain& domain_;
  const SearchConfig config_;
  const bool permutes_;          // every action is a permutation of the state's bytes
  const float least_part_cost_;  // parts of at most this cost are left out
  BeamSearch beam_;
};

}  // namespace tandem
