#include "search/detours.h"

#include <absl/container/flat_hash_map.h>

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

std::string_view Key(std::span<const std::uint8_t> state) {
  return {reinterpret_cast<const char*>(state.data()), state.size()};
}

// The states of a path, and where on it each one is met last.
class PathStates {
 public:
  PathStates(const Domain& domain, std::span<const std::uint8_t> start,
             std::span<const Action> actions)
      : row_size_(start.size()), states_((actions.size() + 1) * start.size()) {
    std::copy(start.begin(), start.end(), states_.begin());
    for (std::size_t i = 0; i <= actions.size(); ++i) {
      const Rows state = rows().Slice(i, 1);
      if (i > 0) {
        std::copy_n((*this)[i - 1].begin(), row_size_, state.data());
        domain.Apply(state, actions.subspan(i - 1, 1));
      }
      last_[Key(state[0])] = i;
    }
  }

  PathStates(const PathStates&) = delete;
  PathStates& operator=(const PathStates&) = delete;

  // The state before action i.
  std::span<const std::uint8_t> operator[](std::size_t i) const {
    return std::span(states_).subspan(i * row_size_, row_size_);
  }

  // Where the path meets `state` last, if that is at `from` or later.
  std::optional<std::size_t> LastAt(std::span<const std::uint8_t> state, std::size_t from) const {
    const auto found = last_.find(Key(state));
    if (found == last_.end() || found->second < from) return std::nullopt;
    return found->second;
  }

 private:
  Rows rows() { return {states_.data(), states_.size() / row_size_, row_size_}; }

  const std::size_t row_size_;
  std::vector<std::uint8_t> states_;
  absl::flat_hash_map<std::string_view, std::size_t> last_;  // keys are parts of states_
};

std::vector<Action> WithoutLoops(const Domain& domain, std::span<const std::uint8_t> start,
                                 std::span<const Action> actions) {
  const PathStates path(domain, start, actions);
  std::vector<Action> direct;
  direct.reserve(actions.size());
  for (std::size_t i = *path.LastAt(path[0], 0); i < actions.size();) {
    direct.push_back(actions[i]);
    i = *path.LastAt(path[i + 1], i + 1);
  }
  return direct;
}

// The solution without action `skipped` is at `end`, before action `rejoins` of the solution, after
// the actions before `end`.
struct Detour {
  std::size_t skipped = 0;
  std::size_t end = 0;
  std::size_t rejoins = 0;  // at least `end`
};

// The paths that leave out one of the last kFarthest actions advance together.
std::optional<Detour> FindDetour(const Domain& domain, std::span<const std::uint8_t> start,
                                 std::span<const Action> actions, std::size_t first) {
  const PathStates path(domain, start, actions);
  const std::size_t size = start.size();
  std::vector<std::uint8_t> others;  // of each such path, the state before action i
  std::vector<Action> same;
  for (std::size_t i = first; i < actions.size(); ++i) {
    same.assign(others.size() / size, actions[i]);
    domain.Apply({others.data(), same.size(), size}, same);
    others.insert(others.end(), path[i].begin(), path[i].end());
    if (others.size() > kFarthest * size) {
      others.erase(others.begin(), others.begin() + static_cast<std::ptrdiff_t>(size));
    }
    const ConstRows states(others.data(), others.size() / size, size);
    for (std::size_t row = 0; row < states.size(); ++row) {
      if (const auto rejoins = path.LastAt(states[row], i + 1)) {
        return Detour{.skipped = i + 1 - states.size() + row, .end = i + 1, .rejoins = *rejoins};
      }
    }
  }
  return std::nullopt;
}

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
    result.actions = WithoutDetours(domain_, start, std::move(result.actions));
    result.cost = CostOf(domain_.spec(), result.actions);
    result.seconds += watch.Seconds();
  }

  const Domain& domain_;
  const std::unique_ptr<Search> search_;
};

}  // namespace

std::vector<Action> WithoutDetours(const Domain& domain, std::span<const std::uint8_t> start,
                                   std::vector<Action> actions) {
  actions = WithoutLoops(domain, start, actions);
  std::size_t first = 0;
  while (const auto detour = FindDetour(domain, start, actions, first)) {
    const auto at = [&](std::size_t i) { return actions.begin() + static_cast<std::ptrdiff_t>(i); };
    actions.erase(at(detour->end), at(detour->rejoins));
    actions.erase(at(detour->skipped));
    // Those before it that are too far away have been looked at.
    first = detour->skipped - std::min(detour->skipped, kFarthest);
  }
  return actions;
}

std::unique_ptr<Search> SearchWithoutDetours(const Domain& domain, std::unique_ptr<Search> search) {
  return std::make_unique<DirectSearch>(domain, std::move(search));
}

}  // namespace tandem
