#include "search/astar.h"

#include <fmt/format.h>

#include <cmath>

#include "base/parallel.h"
#include "tandem/error.h"

namespace tandem {
namespace {

// A TBB task for each index. Fine-grained tasks pay off here: either there are many puzzles, or
// each puzzle's step is large.
template <class Work>
void ForEach(std::size_t size, const Work& work) {
  ForRanges(size, 1, [&](std::size_t first, std::size_t count) {
    for (std::size_t i = first; i < first + count; ++i) work(i);
  });
}

}  // namespace

AStar::AStar(const Domain& domain, Evaluator& evaluator, AStarOptions options)
    : domain_(domain), options_(options), expander_(domain, evaluator, options.evaluate_rows) {
  if (!(options.weight >= 0) || std::isinf(options.weight)) {
    throw Error(
        fmt::format("A*: weight is {}; expected a finite number of at least 0", options.weight));
  }
  if (options.batch == 0 || options.instances == 0) {
    throw Error(fmt::format("A*: batch is {} and instances is {}; expected both to be at least 1",
                            options.batch, options.instances));
  }
}

void AStar::SolveAll(ConstRows starts, const StopSignal& stop, const Done& done) {
  std::vector<Running> running;
  std::vector<std::uint32_t> to_estimate;
  for (std::size_t next = 0; next < starts.size() || !running.empty();) {
    const std::size_t old = running.size();
    to_estimate.clear();
    while (running.size() < options_.instances && next < starts.size()) {
      running.push_back(Begin(next++, starts, to_estimate));
    }
    const std::span<const float> estimates = expander_.Estimate(starts, to_estimate, stop);
    for (std::size_t i = old, at = 0; i < running.size(); ++i) {
      if (!running[i].tree->ended()) running[i].tree->SetStartEstimate(estimates[at++]);
    }
    Step(running, stop);
    for (const Running& each : running) {
      if (each.tree->ended()) done(each.number, each.tree->Result());
    }
    std::erase_if(running, [](const Running& each) { return each.tree->ended(); });
  }
}

AStar::Running AStar::Begin(std::size_t number, ConstRows starts,
                            std::vector<std::uint32_t>& to_estimate) {
  const bool is_goal = IsGoal(domain_, starts[number]);
  if (!is_goal) to_estimate.push_back(static_cast<std::uint32_t>(number));
  return {.number = number,
          .tree = std::make_unique<AStarTree>(domain_.spec(), options_, starts[number], is_goal)};
}

void AStar::Step(std::vector<Running>& running, const StopSignal& stop) {
  if (stop.Reached()) throw Stopped();
  ForEach(running.size(), [&](std::size_t i) { running[i].tree->Pop(); });

  const std::size_t state_size = domain_.spec().state_size;
  const std::size_t num_actions = domain_.spec().num_actions();
  std::size_t num_states = 0;
  first_state_.clear();
  for (const Running& each : running) {
    first_state_.push_back(num_states);
    num_states += each.tree->num_popped();
  }
  states_.resize(num_states * state_size);
  const Rows states(states_.data(), num_states, state_size);
  ForEach(running.size(), [&](std::size_t i) {
    const AStarTree& tree = *running[i].tree;
    tree.CopyPopped(states.Slice(first_state_[i], tree.num_popped()));
  });
  expander_.Expand(states);
  ForEach(running.size(), [&](std::size_t i) {
    running[i].tree->Receive(expander_.expanded(), first_state_[i] * num_actions);
  });

  fresh_.clear();
  for (const Running& each : running) {
    fresh_.insert(fresh_.end(), each.tree->fresh().begin(), each.tree->fresh().end());
  }
  std::span<const float> estimates = expander_.Estimate(expander_.children(), fresh_, stop);
  for (std::size_t i = 0, at = 0; i < running.size(); ++i) {
    first_state_[i] = at;  // reused: from here on the index of the puzzle's first estimate
    at += running[i].tree->fresh().size();
  }
  ForEach(running.size(), [&](std::size_t i) {
    AStarTree& tree = *running[i].tree;
    tree.SetEstimates(estimates.subspan(first_state_[i], tree.fresh().size()));
  });
}

std::size_t AStarBytesFor(std::size_t nodes, const DomainSpec& spec) {
  return NodeTable::BytesFor(nodes, static_cast<std::size_t>(spec.state_size)) +
         OpenList::BytesFor(nodes);
}

}  // namespace tandem
