#include "search/beam_search.h"

#include <algorithm>
#include <utility>

namespace tandem {

BeamSearch::BeamSearch(const Domain& domain, Evaluator& evaluator, BeamOptions options)
    : domain_(domain), options_(options), expander_(domain, evaluator, options.evaluate_rows) {}

SearchResult BeamSearch::Solve(std::span<const std::uint8_t> start, const StopSignal& stop) {
  steps_.clear();
  kept_.clear();
  frontier_.assign(start.begin(), start.end());
  kept_.insert(HashState(start));

  SearchResult result;
  std::uint8_t start_is_goal = 0;
  domain_.IsGoal(ConstRows(start), {&start_is_goal, 1});
  result.solved = start_is_goal != 0;
  while (!result.solved && !frontier_.empty() && steps_.size() < options_.max_length) {
    if (stop.Reached()) throw Stopped();
    expander_.Expand(frontier());
    const std::span<const std::uint8_t> is_goal = expander_.is_goal();
    result.nodes += std::ssize(is_goal);
    const auto goal = std::ranges::find(is_goal, 1);
    if (goal != is_goal.end()) {
      result.solved = true;
      result.actions = PathTo(static_cast<std::size_t>(goal - is_goal.begin()));
    } else {
      Keep(Choose(stop));
    }
  }
  return result;
}

ConstRows BeamSearch::frontier() const {
  const auto state_size = static_cast<std::size_t>(domain_.spec().state_size);
  return {frontier_.data(), frontier_.size() / state_size, state_size};
}

bool BeamSearch::MarkKept(std::uint32_t child) {
  return expander_.unchanged()[child] == 0 && kept_.insert(expander_.hashes()[child]).second;
}

// The first of each group of equal children, less those kept before.
std::vector<std::uint32_t> BeamSearch::NewChildren() {
  const std::span<const std::uint64_t> hashes = expander_.hashes();
  const std::span<const std::uint8_t> unchanged = expander_.unchanged();
  std::vector<std::uint32_t> fresh;
  fresh.reserve(hashes.size());
  seen_.clear();
  seen_.reserve(hashes.size());
  for (std::size_t i = 0; i < hashes.size(); ++i) {
    if (unchanged[i] == 0 && !kept_.contains(hashes[i]) && seen_.insert(hashes[i]).second) {
      fresh.push_back(static_cast<std::uint32_t>(i));
    }
  }
  return fresh;
}

// The `width` new children of least estimate.
std::vector<std::uint32_t> BeamSearch::Choose(const StopSignal& stop) {
  std::vector<std::uint32_t> candidates = NewChildren();
  if (candidates.size() <= options_.width) return candidates;
  const std::span<const float> values = expander_.Estimate(expander_.children(), candidates, stop);
  std::vector<std::pair<float, std::uint32_t>> ranked(candidates.size());
  for (std::size_t i = 0; i < ranked.size(); ++i) ranked[i] = {values[i], candidates[i]};
  // Ties go to the lower index, so that the result does not depend on the library's algorithm.
  std::ranges::nth_element(ranked, ranked.begin() + static_cast<std::ptrdiff_t>(options_.width));
  candidates.resize(options_.width);
  for (std::size_t i = 0; i < candidates.size(); ++i) candidates[i] = ranked[i].second;
  std::ranges::sort(candidates);
  return candidates;
}

void BeamSearch::Keep(const std::vector<std::uint32_t>& children) {
  const std::size_t num_actions = domain_.spec().num_actions();
  std::vector<Step>& steps = steps_.emplace_back();
  steps.reserve(children.size());
  frontier_.clear();
  for (const std::uint32_t child : children) {
    steps.push_back({.parent = static_cast<std::uint32_t>(child / num_actions),
                     .action = static_cast<Action>(child % num_actions)});
    const std::span<const std::uint8_t> state = expander_.children()[child];
    frontier_.insert(frontier_.end(), state.begin(), state.end());
    kept_.insert(expander_.hashes()[child]);
  }
}

std::vector<Action> BeamSearch::PathTo(std::size_t child) const {
  const std::size_t num_actions = domain_.spec().num_actions();
  std::vector<Action> actions = {static_cast<Action>(child % num_actions)};
  std::size_t at = child / num_actions;
  for (std::size_t depth = steps_.size(); depth-- > 0;) {
    actions.push_back(steps_[depth][at].action);
    at = steps_[depth][at].parent;
  }
  std::ranges::reverse(actions);
  return actions;
}

}  // namespace tandem
