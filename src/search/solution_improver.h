// Shortens solutions by replacing parts of them with cheaper ones.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/stop_signal.h"
#include "search/expander.h"
#include "search/goal_ball.h"
#include "search/path_beams.h"
#include "tandem/domain.h"

namespace tandem {

/// SolutionImprover replaces windows of a solution with cheapest sequences of actions between the
/// same two states. A window is optimised by an exact search from its first state that ends in a
/// ball around its last state, so a ball of radius r settles windows of more than 2 r moves.
///
/// If all actions are permutations, a sequence of actions does the same to every state. The window
/// is therefore moved to the goal, and the ball around the goal serves all windows. Otherwise a
/// smaller ball is built around the last state of each window. A new window is used only if a
/// replay shows that it leads to the same state, because a permutation may look right at the goal
/// and wrong elsewhere if the goal has equal pieces.
///
/// Windows start with twice the ball's radius, and grow by one move after each pass over the
/// solution that changes nothing, until a search reaches its limit of nodes.
///
/// Then beam searches look for cheaper ways between states that are farther apart (PathBeams).
/// Their width begins with `first_width` and doubles when no part of the solution became
/// cheaper. When a part has become cheaper, windows come first again, without those that an earlier
/// pass has settled. The improver ends early if a window of the whole solution shows that it is a
/// cheapest one, or if no beam was full. Without a ball around the goal there are no windows, only
/// beams.
class SolutionImprover {
 public:
  /// What Improve made of a solution.
  struct Improved {
    std::vector<Action> actions;
    std::int64_t nodes = 0;  ///< states generated
  };

  /// The default number of states that the search for one window may store.
  static constexpr std::int64_t kMostNodes = 1 << 20;

  /// `ball` is the ball around the goal. It and `beams` may be null. The first width of beams is
  /// `first_width`. `domain` must outlive this.
  SolutionImprover(const Domain& domain, std::shared_ptr<const GoalBall> ball,
                   std::unique_ptr<PathBeams> beams = nullptr, std::int64_t first_width = 1,
                   std::int64_t most_nodes = kMostNodes);

  /// Returns a solution of `start` that costs at most as much as `actions`, which must be one.
  /// If the costs of actions differ, a cheaper solution may have more actions: at most
  /// `max_length`, or as many as `actions` has if those are more. Works for at most `seconds`,
  /// generates about `max_nodes` states at most (0: no limit), and returns early once `outer` is
  /// reached.
  Improved Improve(std::span<const std::uint8_t> start, std::vector<Action> actions, double seconds,
                   const StopSignal& outer, std::int64_t max_nodes = 0,
                   std::int64_t max_length = kAnyLength);

 private:
  using State = std::vector<std::uint8_t>;

  // What a search for a cheaper window found.
  struct Found {
    std::optional<std::vector<Action>> cheaper;
    bool exact = true;  // false if a limit ended the search
  };

  bool Ends(const StopSignal& stop) const;
  std::int64_t NodesLeft() const;
  std::size_t MostBallBytes() const;
  void Shorten(std::span<const std::uint8_t> start, std::vector<Action>& actions,
               const StopSignal& stop);
  bool ImproveWindows(std::span<const std::uint8_t> start, std::vector<Action>& actions,
                      const StopSignal& stop);
  bool ImproveWindowsOf(std::size_t length, std::span<const std::uint8_t> start,
                        std::vector<Action>& actions, const StopSignal& stop);
  Found CheaperUnlessSettled(const State& from, const State& to, std::span<const Action> window,
                             const StopSignal& stop);
  Found CheaperWindow(const State& from, const State& to, std::span<const Action> window,
                      const StopSignal& stop);
  Found CheaperAtGoal(std::span<const Action> window, const StopSignal& stop);
  Found CheaperAround(const State& from, const State& to, std::span<const Action> window,
                      const StopSignal& stop);
  Found Search(const State& from, std::span<const Action> window, const GoalBall& ball,
               Expander& expander, const StopSignal& stop);
  bool Leads(State from, std::span<const Action> actions, const State& to) const;

  const Domain& domain_;
  const std::shared_ptr<const GoalBall> ball_;  // may be null
  const std::unique_ptr<PathBeams> beams_;      // may be null
  const std::int64_t first_width_;
  const std::int64_t most_nodes_;
  const bool permutes_;  // every action is a permutation of the state's bytes
  State goal_;
  Expander expander_;  // with ball_
  // Whether the search was exact that found nothing cheaper than a window, by the window's first
  // state and its actions.
  std::map<std::pair<State, std::vector<Action>>, bool> settled_;
  std::int64_t generated_ = 0;  // states, by the current call of Improve
  // Of the current call of Improve.
  std::int64_t max_nodes_ = 0;
  std::int64_t max_length_ = kAnyLength;
  std::vector<std::uint8_t> popped_;
  std::vector<float> estimates_;
};

}  // namespace tandem
