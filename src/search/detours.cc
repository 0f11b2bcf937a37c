#include "search/detours.h"

#include <absl/container/flat_hash_map.h>
#include <absl/strings/string_view.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/stopwatch.h"

namespace tandem {
namespace {

constexpr std::size_t kFarthest = 256;  // actions between one that is left out and its effect

absl::string_view Key(std::span<const std::uint8_t> state) {
  return {reinterpret_cast<const char*>(state.data()), state.size()};
}

// The actions of a path that remain to be looked at, and the states that they lead to.
class Rest {
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
      steps.push_back({.action = action, .state = std::string(Key(state))});
    }
    for (; !steps.empty(); steps.pop_back()) {
      after_.try_emplace(steps.back().state, steps_.size());
      steps_.push_back(std::move(steps.back()));
    }
  }

  // How many actions follow where the path meets `state` last. Nothing if it does not.
  std::optional<std::size_t> NumAfter(std::span<const std::uint8_t> state) const {
    const auto found = after_.find(Key(state));
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

class DirectSearch final : public Search {
 public:
  DirectSearch(const Domain& domain, std::unique_ptr<Search> search)
      : domain_(domain), search_(std::move(search)) {}

  void SolveAll(const Starts& starts, const StopSignal& stop, const Done& done) override {
    search_->SolveAll(starts, stop, [&](std::size_t number, SearchResult result) {
      if (result.solved) Straighten(starts.states[number], result);
      done(number, std::move(result));
    });
  }

  std::string Describe() const override { return search_->Describe(); }
  std::string_view MainKey() const override { return search_->MainKey(); }
  std::string Failure(const SearchResult& result) const override {
    return search_->Failure(result);
  }

 private:
  void Straighten(std::span<const std::uint8_t> start, SearchResult& result) const {
    const Stopwatch watch;
    result.actions = WithoutDetours(domain_, start, result.actions);
    result.cost = CostOf(domain_.spec(), result.actions);
    result.seconds += watch.Seconds();
  }

  const Domain& domain_;
  const std::unique_ptr<Search> search_;
};

}  // namespace

// Follows the path, and beside it the paths that leave out one of its last kFarthest actions. If
// one of them meets the rest of the path, it takes the place of the part before.
std::vector<Action> WithoutDetours(const Domain& domain, std::span<const std::uint8_t> start,
                                   const std::vector<Action>& actions) {
  const std::size_t size = start.size();
  Rest rest;
  rest.Prepend(domain, start, actions);
  std::vector<Action> taken;
  std::vector<std::uint8_t> states(start.begin(),
                                   start.end());  // from the start to the current one
  std::vector<std::uint8_t> others;               // the ends of the other paths
  std::vector<Action> same;
  for (;;) {
    const std::span<const std::uint8_t> current = std::span(states).last(size);
    if (const auto after = rest.NumAfter(current)) rest.KeepLast(*after);
    if (rest.empty()) return taken;

    same.assign(others.size() / size, rest.action());
    domain.Apply({others.data(), same.size(), size}, same);
    others.insert(others.end(), current.begin(), current.end());
    if (others.size() > kFarthest * size) {
      others.erase(others.begin(), others.begin() + static_cast<std::ptrdiff_t>(size));
    }
    taken.push_back(rest.action());
    const ConstRows ends(others.data(), others.size() / size, size);
    std::size_t row = 0;
    while (row < ends.size() && !rest.NumAfter(ends[row])) ++row;
    if (row == ends.size()) {
      states.insert(states.end(), rest.state().begin(), rest.state().end());
      rest.KeepLast(rest.size() - 1);
      continue;
    }

    // Paths without an action before `first` are not followed as far as the detour.
    const std::size_t skipped = taken.size() - ends.size() + row;
    const std::size_t first = skipped - std::min(skipped, kFarthest);
    rest.KeepLast(*rest.NumAfter(ends[row]));
    taken.erase(taken.begin() + static_cast<std::ptrdiff_t>(skipped));
    states.resize((first + 1) * size);
    rest.Prepend(domain, std::span(states).last(size), std::span(taken).subspan(first));
    taken.resize(first);
    others.clear();
  }
}

std::unique_ptr<Search> SearchWithoutDetours(const Domain& domain, std::unique_ptr<Search> search) {
  return std::make_unique<DirectSearch>(domain, std::move(search));
}

}  // namespace tandem
