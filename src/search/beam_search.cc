#include "search/beam_search.h"

#include <oneapi/tbb/blocked_range.h>
#include <oneapi/tbb/parallel_for.h>
#include <xxhash.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "tandem/error.h"

namespace tandem {
namespace {

using Range = tbb::blocked_range<std::size_t>;

constexpr std::size_t kGrain = 256;  // states that one task takes

}  // namespace

BeamSearch::BeamSearch(const Domain& domain, Evaluator& evaluator, BeamOptions options)
    : domain_(domain), evaluator_(evaluator), options_(options) {}

SearchResult BeamSearch::Solve(std::span<const std::uint8_t> start, const StopSignal& stop) {
  steps_.clear();
  kept_.clear();
  frontier_.assign(start.begin(), start.end());
  kept_.insert(XXH3_64bits(start.data(), start.size()));

  SearchResult result;
  std::uint8_t start_is_goal = 0;
  domain_.IsGoal(ConstRows(start), {&start_is_goal, 1});
  result.solved = start_is_goal != 0;
  while (!result.solved && !frontier_.empty() && steps_.size() < options_.max_length) {
    if (stop.Reached()) throw Stopped();
    const ConstRows children = ExpandFrontier();
    result.nodes += static_cast<std::int64_t>(children.size());
    const auto goal = std::ranges::find(is_goal_, 1);
    if (goal != is_goal_.end()) {
      result.solved = true;
      result.actions = PathTo(static_cast<std::size_t>(goal - is_goal_.begin()));
    } else {
      KeepBest(children, NewChildren(children));
    }
  }
  return result;
}

// Also hashes the children and looks for goals among them.
Rows BeamSearch::ExpandFrontier() {
  const std::size_t state_size = domain_.spec().state_size;
  const std::size_t num_actions = domain_.spec().num_actions();
  const ConstRows states(frontier_.data(), frontier_.size() / state_size, state_size);
  const std::size_t num_children = states.size() * num_actions;
  children_.resize(num_children * state_size);
  hashes_.resize(num_children);
  is_goal_.resize(num_children);
  const Rows children(children_.data(), num_children, state_size);

  tbb::parallel_for(Range(0, states.size(), kGrain), [&](const Range& range) {
    const std::size_t first = range.begin() * num_actions;
    const Rows mine = children.Slice(first, range.size() * num_actions);
    domain_.Expand(states.Slice(range.begin(), range.size()), mine);
    domain_.IsGoal(mine, std::span(is_goal_).subspan(first, mine.size()));
    for (std::size_t i = 0; i < mine.size(); ++i) {
      hashes_[first + i] = XXH3_64bits(mine[i].data(), state_size);
    }
  });
  return children;
}

// The first of each group of equal children, less those kept before.
std::vector<std::uint32_t> BeamSearch::NewChildren(ConstRows children) {
  std::vector<std::uint32_t> fresh;
  fresh.reserve(children.size());
  seen_.clear();
  seen_.reserve(children.size());
  for (std::size_t i = 0; i < children.size(); ++i) {
    if (!kept_.contains(hashes_[i]) && seen_.insert(hashes_[i]).second) {
      fresh.push_back(static_cast<std::uint32_t>(i));
    }
  }
  return fresh;
}

void BeamSearch::KeepBest(ConstRows children, std::vector<std::uint32_t> candidates) {
  const std::size_t input_size = domain_.spec().input.positions;
  if (candidates.size() > options_.width) {
    inputs_.resize(candidates.size() * input_size);
    values_.resize(candidates.size());
    const Rows inputs(inputs_.data(), candidates.size(), input_size);
    tbb::parallel_for(Range(0, candidates.size(), kGrain), [&](const Range& range) {
      for (std::size_t i = range.begin(); i < range.end(); ++i) {
        domain_.Encode(ConstRows(children[candidates[i]]), inputs.Slice(i, 1));
      }
    });
    evaluator_.Evaluate(inputs, values_);

    std::vector<std::pair<float, std::uint32_t>> ranked(candidates.size());
    for (std::size_t i = 0; i < ranked.size(); ++i) {
      if (std::isnan(values_[i])) throw Error("the network's estimate of a state is not a number");
      ranked[i] = {values_[i], candidates[i]};
    }
    // Ties go to the lower index, so that the result does not depend on the library's algorithm.
    std::ranges::nth_element(ranked, ranked.begin() + static_cast<std::ptrdiff_t>(options_.width));
    candidates.resize(options_.width);
    for (std::size_t i = 0; i < candidates.size(); ++i) candidates[i] = ranked[i].second;
    std::ranges::sort(candidates);
  }

  const std::size_t num_actions = domain_.spec().num_actions();
  std::vector<Step>& steps = steps_.emplace_back();
  frontier_.clear();
  for (const std::uint32_t child : candidates) {
    steps.push_back({.parent = static_cast<std::uint32_t>(child / num_actions),
                     .action = static_cast<Action>(child % num_actions)});
    frontier_.insert(frontier_.end(), children[child].begin(), children[child].end());
    kept_.insert(hashes_[child]);
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
