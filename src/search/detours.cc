#include <absl/container/flat_hash_map.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "search/hash_set.h"
#include "search/search.h"

namespace tandem {
namespace {

constexpr std::size_t kFarthest = 256;  // actions between one that is left out and its effect

// RemainingPath holds the actions of a path that remain to be followed, and the states after them.
class RemainingPath {
 public:
  bool empty() const { return steps_.empty(); }
  std::size_t size() const { return steps_.size(); }
  Action action() const { return steps_.back().action; }
  const std::string& state() const { return steps_.back().state; }  // after action()

  // Puts `actions`, which begin in the state `from`, before the others.
  void Prepend(const Domain& domain, std::span<const std::uint8_t> from,
               std::span<const Action> actions) {
    std::vector<std::uint8_t> state(from.begin(), from.end());
    std::vector<Step> steps;
    steps.reserve(actions.size());
    for (const Action action : actions) {
      ApplyAll(domain, {&action, 1}, state);
      steps.push_back({.action = action, .state = std::string(KeyOf(state))});
    }
    for (; !steps.empty(); steps.pop_back()) {
      after_.try_emplace(steps.back().state, steps_.size());
      steps_.push_back(std::move(steps.back()));
    }
  }

  // How many actions follow where the path meets `state` last. Nothing if it does not.
  std::optional<std::size_t> NumAfter(std::span<const std::uint8_t> state) const {
    const auto found = after_.find(KeyOf(state));
    return found == after_.end() ? std::nullopt : std::optional(found->second);
  }

  // Drops all actions but the last `count`.
  void KeepLast(std::size_t count) {
    for (; steps_.size() > count; steps_.pop_back()) {
      const auto found = after_.find(steps_.back().state);
      if (found->second + 1 == steps_.size()) after_.erase(found);
    }
  }

 private:
  struct Step {
    Action action;
    std::string state;
  };

  std::vector<Step> steps_;                              // the next one last
  absl::flat_hash_map<std::string, std::size_t> after_;  // by state: the result of NumAfter
};

// Shortcut is a shorter way between two states of the path: without action `skipped` of those
// followed, the path meets the remaining one where `remaining` actions follow.
struct Shortcut {
  std::size_t skipped;
  std::size_t remaining;
};

// FollowedPath holds the actions that were followed so far. Beside this path, it follows the paths
// that leave out one of the last kFarthest actions.
class FollowedPath {
 public:
  FollowedPath(const Domain& domain, std::span<const std::uint8_t> start)
      : domain_(domain), state_size_(start.size()), states_(start.begin(), start.end()) {}

  const std::vector<Action>& actions() const { return actions_; }
  std::span<const std::uint8_t> end() const { return std::span(states_).last(state_size_); }

  // Takes the next action, which leads to `state`.
  void Follow(Action action, std::string_view state) {
    repeated_.assign(others_.size() / state_size_, action);
    domain_.Apply({others_.data(), repeated_.size(), state_size_}, repeated_);
    const std::span<const std::uint8_t> without_action = end();
    others_.insert(others_.end(), without_action.begin(), without_action.end());
    if (others_.size() > kFarthest * state_size_) {
      others_.erase(others_.begin(), others_.begin() + static_cast<std::ptrdiff_t>(state_size_));
    }
    actions_.push_back(action);
    states_.insert(states_.end(), state.begin(), state.end());
  }

  // Finds the first action without which the path meets the remaining one. `remaining` must still
  // have the action that was followed last.
  std::optional<Shortcut> FindShortcut(const RemainingPath& remaining) const {
    const ConstRows ends(others_.data(), others_.size() / state_size_, state_size_);
    for (std::size_t row = 0; row < ends.size(); ++row) {
      const std::optional<std::size_t> after = remaining.NumAfter(ends[row]);
      if (!after) continue;
      return Shortcut{.skipped = actions_.size() - ends.size() + row, .remaining = *after};
    }
    return std::nullopt;
  }

  // Leaves out the skipped action and those that it makes useless, and gives the last actions back
  // to `remaining`. Paths without an earlier action were not followed as far as the place where the
  // paths meet, so they are followed again.
  void TakeShortcut(const Shortcut& shortcut, RemainingPath& remaining) {
    const std::size_t first = shortcut.skipped - std::min(shortcut.skipped, kFarthest);
    remaining.KeepLast(shortcut.remaining);
    actions_.erase(actions_.begin() + static_cast<std::ptrdiff_t>(shortcut.skipped));
    states_.resize((first + 1) * state_size_);
    remaining.Prepend(domain_, end(), std::span(actions_).subspan(first));
    actions_.resize(first);
    others_.clear();
  }

 private:
  const Domain& domain_;
  const std::size_t state_size_;
  std::vector<Action> actions_;
  std::vector<std::uint8_t> states_;  // from the start to the end
  // The ends of the other paths: row i belongs to the path without the i-th of the last actions.
  std::vector<std::uint8_t> others_;
  std::vector<Action> repeated_;  // scratch: the next action, once for each other path
};

}  // namespace

std::vector<Action> WithoutDetours(const Domain& domain, std::span<const std::uint8_t> start,
                                   const std::vector<Action>& actions) {
  RemainingPath remaining;
  remaining.Prepend(domain, start, actions);
  FollowedPath followed(domain, start);
  for (;;) {
    if (const auto after = remaining.NumAfter(followed.end())) remaining.KeepLast(*after);
    if (remaining.empty()) return followed.actions();
    followed.Follow(remaining.action(), remaining.state());
    const std::optional<Shortcut> shortcut = followed.FindShortcut(remaining);
    if (shortcut) {
      followed.TakeShortcut(*shortcut, remaining);
    } else {
      remaining.KeepLast(remaining.size() - 1);
    }
  }
}

}  // namespace tandem
