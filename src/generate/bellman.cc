#include "generate/bellman.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <optional>
#include <span>
#include <utility>

#include "base/fault_point.h"
#include "base/parallel.h"
#include "base/timeline.h"
#include "data/examples.h"
#include "domain/random_walks.h"
#include "generate/row_ranges.h"
#include "search/evaluation.h"
#include "search/hash_set.h"

namespace tandem {
namespace {

// Gives the action with the least backup the probability 1. An action without effect may have it if
// the estimate of the state is too low, and a search that takes it gets nowhere.
void WriteGreedyAction(const StateBackup& backup, std::span<float> policy) {
  std::optional<std::size_t> greedy;
  for (std::size_t action = 0; action < policy.size(); ++action) {
    if (backup.has_effect[action] == 0) continue;
    if (!greedy || backup.actions[action] < backup.actions[*greedy]) greedy = action;
  }
  if (greedy) policy[*greedy] = 1;
}

}  // namespace

StateBatch::StateBatch(const Domain& domain, Evaluator& network,
                       std::shared_ptr<const GoalBall> ball, Children which)
    : domain(domain),
      children(domain, std::move(ball)),
      network_(network),
      which_(which),
      skips_known_(network.rows_are_independent()) {
  CheckEstimatesStates("a target that backs up estimates", network);
}

void StateBatch::Resize(std::size_t size) {
  states.resize(size * domain.spec().state_size);
  is_goal.resize(size);
  bounds.resize(size);
  estimates.resize(size);
  if (has_one_child()) {
    actions.resize(size);
    children.ResizeForSteps(size);
  } else {
    children.Resize(size);
  }
  child_estimates.resize(children.size());
  inputs_.resize(children.size() * domain.spec().input.positions);
  if (skips_known_) is_needed_.resize(children.size());
}

void StateBatch::Expand(std::size_t first, std::size_t count) {
  FaultPoint(Fault::kSimulator);
  const ConstRows range = rows().Slice(first, count);
  {
    const Span span(Activity::kExpand);
    domain.IsGoal(range, std::span(is_goal).subspan(first, count));
    if (has_one_child()) {
      children.StepRange(range, std::span(actions).subspan(first, count), first);
    } else {
      children.ExpandRange(range, first);
    }
  }
  const Span span(Activity::kWrite);
  const std::size_t of_state = has_one_child() ? 1 : domain.spec().num_actions();
  const std::size_t first_child = first * of_state;
  const std::size_t num_children = count * of_state;
  domain.Encode(children.children().Slice(first_child, num_children),
                InputsOf(first_child, num_children));
  if (!skips_known_) return;
  for (std::size_t child = first_child; child < first_child + num_children; ++child) {
    is_needed_[child] = children.is_goal()[child] != 0 ? 0 : 1;
    child_estimates[child] = 0;
  }
}

void StateBatch::ReuseEstimates(std::size_t first, std::size_t count, KnownEstimates& known) {
  if (!skips_known_) return;
  for (std::size_t i = first; i < first + count; ++i) {
    if (!std::isnan(estimates[i])) known.try_emplace(KeyOf(rows()[i]), estimates[i]);
  }
  if (known.empty()) return;
  const auto num_actions = static_cast<std::size_t>(domain.spec().num_actions());
  for (std::size_t child = first * num_actions; child < (first + count) * num_actions; ++child) {
    const auto found = known.find(KeyOf(children.children()[child]));
    if (found == known.end() || children.is_goal()[child] != 0) continue;
    is_needed_[child] = 0;
    child_estimates[child] = found->second;
  }
}

void StateBatch::Evaluate() {
  if (child_estimates.empty()) return;
  const Span span(Activity::kEvaluate);
  if (!skips_known_) {
    network_.Evaluate(InputsOf(0, children.size()), child_estimates);
  } else {
    FindNeeded();
    const auto input_size = static_cast<std::size_t>(domain.spec().input.positions);
    evaluated_inputs_.resize(evaluated_.size() * input_size);
    evaluated_values_.resize(evaluated_.size());
    const Rows inputs(evaluated_inputs_.data(), evaluated_.size(), input_size);
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      std::ranges::copy(InputsOf(evaluated_[i], 1)[0], inputs[i].begin());
    }
    if (!evaluated_.empty()) network_.Evaluate(inputs, evaluated_values_);
    for (std::size_t child = 0; child < children.size(); ++child) {
      if (is_needed_[child] != 0) child_estimates[child] = evaluated_values_[place_[child]];
    }
  }
  RejectNan(domain, child_estimates, children.children());
}

// Finds the needed children that differ from each other.
void StateBatch::FindNeeded() {
  evaluated_.clear();
  place_of_.clear();
  place_.resize(children.size());
  for (std::size_t child = 0; child < children.size(); ++child) {
    if (is_needed_[child] == 0) continue;
    const auto next = static_cast<std::uint32_t>(evaluated_.size());
    place_[child] = place_of_.try_emplace(children.hashes()[child], next).first->second;
    const bool repeats =
        place_[child] != next && std::ranges::equal(children.children()[evaluated_[place_[child]]],
                                                    children.children()[child]);
    if (repeats) continue;
    place_[child] = next;
    evaluated_.push_back(static_cast<std::uint32_t>(child));
  }
}

Rows StateBatch::InputsOf(std::size_t first, std::size_t count) {
  const auto input_size = static_cast<std::size_t>(domain.spec().input.positions);
  return {inputs_.data() + first * input_size, count, input_size};
}

// The child of an action that does not apply is a copy of its parent, and is backed up like any
// other child. Since the action costs something, it is never the best under the true cost-to-go.
// The true cost-to-go therefore remains the fixed point, and no action masks are needed.
void BellmanTargets::BackUp(const StateBatch& batch, std::size_t i, StateBackup& backup) const {
  const DomainSpec& spec = domain_.spec();
  const std::span<const std::uint8_t> state = batch.rows()[i];
  const auto num_actions = static_cast<std::size_t>(spec.num_actions());
  backup.known = batch.children.KnownCostOf(state, HashState(state), batch.is_goal[i] != 0);
  backup.bound = batch.bounds[i];
  backup.actions.resize(num_actions);
  backup.has_effect.resize(num_actions);
  backup.only = batch.has_one_child() ? std::optional(batch.actions[i]) : std::nullopt;
  for (std::size_t action = 0; action < num_actions; ++action) {
    if (backup.only && *backup.only != action) continue;
    const std::size_t child = backup.only ? i : i * num_actions + action;
    backup.actions[action] = spec.action_costs[action] + batch.CostToGo(child);
    backup.has_effect[action] = batch.children.is_left_out()[child] != 0 ? 0 : 1;
  }
}

void BellmanTargets::Write(const StateBackup& backup, DataBuffer& examples, std::size_t row) const {
  const DomainSpec& spec = domain_.spec();
  const std::span<float> target = examples.floats(kTargetColumn, row);
  const auto capped = [&](Action action) {
    return std::min(backup.actions[action],
                    backup.bound + spec.action_costs[action] + UndoCost(spec, action));
  };
  if (backup.only && !TakesAction(head_)) {
    const std::span<float> weight = examples.floats(kWeightColumn, row);
    std::ranges::fill(target, 0.0F);
    std::ranges::fill(weight, 0.0F);
    target[*backup.only] = capped(*backup.only);
    weight[*backup.only] = 1;
    return;
  }
  LabelAllOutputs(examples, row);
  if (TakesAction(head_)) {
    target[0] = capped(ActionIn(spec, examples, row));
    return;
  }
  if (IsQ(head_)) {
    for (std::size_t a = 0; a < target.size(); ++a) target[a] = capped(static_cast<Action>(a));
    return;
  }
  const bool is_goal = backup.known == 0;
  target[0] = is_goal ? 0.0F : std::min(backup.bound, std::ranges::min(backup.actions));
  if (!HasPolicy(head_)) return;
  const std::span<float> policy = target.subspan(1);
  std::ranges::fill(policy, 0.0F);
  if (!is_goal) WriteGreedyAction(backup, policy);
}

StoredStateLabeller::StoredStateLabeller(const Domain& domain, Evaluator& target_network,
                                         const Config& config,
                                         std::shared_ptr<const ExactLabels> exact)
    : domain_(domain),
      head_(config.network.head),
      seed_(config.random_seed()),
      chunk_rows_(config.generate.rows_of_chunk()),
      arena_(static_cast<int>(*config.generate.workers)),
      batches_{StateBatch(domain, target_network, BallOf(exact)),
               StateBatch(domain, target_network, BallOf(exact))},
      targets_(domain, head_),
      exact_(std::move(exact)) {}

PipelinedLoop StoredStateLabeller::Start(std::int64_t update, const DataBuffer& states,
                                         DataBuffer& examples, const StopSignal& stop) {
  const RowRanges ranges(static_cast<std::int64_t>(states.rows()), chunk_rows_);
  const auto expand = [this, update, &states, &examples, ranges](std::int64_t turn) {
    Expand(update, states, ranges[turn], examples, batches_[turn % 2]);
  };
  const auto evaluate = [this](std::int64_t turn) { batches_[turn % 2].Evaluate(); };
  const auto write_targets = [this, &examples, ranges](std::int64_t turn) {
    WriteTargets(batches_[turn % 2], ranges[turn], examples);
  };
  return {arena_, ranges.size(), stop, expand, evaluate, write_targets};
}

void StoredStateLabeller::Expand(std::int64_t update, const DataBuffer& states, RowRange range,
                                 DataBuffer& examples, StateBatch& batch) {
  batch.Resize(static_cast<std::size_t>(range.rows));
  const std::size_t task_rows = domain_.spec().TaskRows(kStatesPerTask);
  ForRanges(batch.size(), task_rows, [&](std::size_t first, std::size_t count) {
    const std::size_t row = static_cast<std::size_t>(range.first) + first;
    const ConstRows bytes = states.column(kStateColumn).Slice(row, count);
    std::ranges::copy(bytes.bytes(), batch.rows().Slice(first, count).data());
    std::ranges::copy(states.floats(kBoundColumn).subspan(row, count),
                      batch.bounds.begin() + static_cast<std::ptrdiff_t>(first));
    batch.Expand(first, count);
    std::vector<Action> actions;
    for (std::size_t i = row; TakesAction(head_) && i < row + count; ++i) {
      actions.push_back(DrawAction(domain_.spec(), seed_, update, static_cast<std::int64_t>(i)));
    }
    EncodeInputs(domain_, batch.rows().Slice(first, count), actions,
                 examples.column(kInputColumn).Slice(row, count));
  });
}

void StoredStateLabeller::WriteTargets(const StateBatch& batch, RowRange range,
                                       DataBuffer& examples) const {
  const auto first_row = static_cast<std::size_t>(range.first);
  const std::size_t task_rows = domain_.spec().TaskRows(kStatesPerTask);
  ForRanges(batch.size(), task_rows, [&](std::size_t first, std::size_t count) {
    StateBackup backup;
    for (std::size_t i = first; i < first + count; ++i) {
      targets_.BackUp(batch, i, backup);
      targets_.Write(backup, examples, first_row + i);
    }
    if (exact_ == nullptr) return;
    std::vector<std::size_t> rows(count);
    std::iota(rows.begin(), rows.end(), first_row + first);
    exact_->Write(batch.rows().Slice(first, count), rows, examples);
  });
}

}  // namespace tandem
