#include "generate/bellman.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <optional>
#include <span>
#include <utility>

#include "base/fault_point.h"
#include "base/parallel.h"
#include "base/timeline.h"
#include "data/examples.h"
#include "domain/random_walk.h"
#include "generate/row_ranges.h"
#include "search/hash_set.h"

namespace tandem {
namespace {

// Whether an action of state i of `batch` leads to another state.
bool ChangesState(const StateBatch& batch, std::size_t i, std::size_t action) {
  const auto num_actions = static_cast<std::size_t>(batch.domain.spec().num_actions());
  return batch.children.is_left_out()[i * num_actions + action] == 0;
}

// Gives the action with the least backup the probability 1. An action without effect may have it if
// the estimate of the state is too low, and a search that takes it gets nowhere. `policy` must hold
// zeros.
template <class BackupOf, class HasEffect>
void WriteGreedyAction(const BackupOf& backup_of, const HasEffect& has_effect,
                       std::span<float> policy) {
  std::optional<std::size_t> greedy;
  for (std::size_t action = 0; action < policy.size(); ++action) {
    if (!has_effect(action)) continue;
    if (!greedy || backup_of(action) < backup_of(*greedy)) greedy = action;
  }
  if (greedy) policy[*greedy] = 1;
}

}  // namespace

void StateBatch::Resize(std::size_t size) {
  ResizeStates(size);
  children.Resize(size);
  child_estimates.Resize(children.size());
}

void StateBatch::ResizeForSteps(std::size_t size) {
  ResizeStates(size);
  children.ResizeForSteps(size);
  child_estimates.Resize(size);
}

void StateBatch::ResizeStates(std::size_t size) {
  states.resize(size * domain.spec().state_size);
  is_goal.resize(size);
  bounds.resize(size);
  estimates.resize(size);
}

void StateBatch::Expand(std::size_t first, std::size_t count) {
  FaultPoint(Fault::kSimulator);
  const ConstRows range = rows().Slice(first, count);
  {
    const Span span(Activity::kExpand);
    domain.IsGoal(range, std::span(is_goal).subspan(first, count));
    children.ExpandRange(range, first);
  }
  const Span span(Activity::kWrite);
  const auto num_actions = static_cast<std::size_t>(domain.spec().num_actions());
  child_estimates.Encode(children, first * num_actions, count * num_actions);
}

void StateBatch::Step(std::size_t first, std::span<const Action> actions) {
  FaultPoint(Fault::kSimulator);
  {
    const Span span(Activity::kExpand);
    children.StepRange(rows().Slice(first, actions.size()), actions, first);
  }
  const Span span(Activity::kWrite);
  child_estimates.Encode(children, first, actions.size());
}

void KnownEstimates::Clear() {
  by_hash_.clear();
  states_.clear();
  estimates_.clear();
}

// Of two states with the same hash, the second is not added, and is evaluated where it is needed.
void KnownEstimates::Add(std::span<const std::uint8_t> state, float estimate) {
  const auto next = static_cast<std::uint32_t>(estimates_.size());
  if (!by_hash_.try_emplace(HashState(state), next).second) return;
  states_.insert(states_.end(), state.begin(), state.end());
  estimates_.push_back(estimate);
}

void KnownEstimates::AddAndReuse(StateBatch& batch, std::size_t first, std::size_t count) {
  for (std::size_t i = first; i < first + count; ++i) {
    if (!std::isnan(batch.estimates[i])) Add(batch.rows()[i], batch.estimates[i]);
  }
  if (estimates_.empty()) return;
  const Expander& children = batch.children;
  const auto num_actions = static_cast<std::size_t>(batch.domain.spec().num_actions());
  for (std::size_t child = first * num_actions; child < (first + count) * num_actions; ++child) {
    if (children.is_goal()[child] != 0) continue;
    const auto found = by_hash_.find(children.hashes()[child]);
    if (found == by_hash_.end()) continue;
    const std::span<const std::uint8_t> state = children.children()[child];
    const auto known = std::span(states_).subspan(found->second * state.size(), state.size());
    if (std::ranges::equal(state, known)) {
      batch.child_estimates.Set(child, estimates_[found->second]);
    }
  }
}

BellmanTargets::BellmanTargets(const Domain& domain, const Config& config,
                               std::shared_ptr<const ExactLabels> exact)
    : domain_(domain), head_(config.network.head), exact_(std::move(exact)) {}

// The child of an action that does not apply is a copy of its parent, and is backed up like any
// other child. Since the action costs something, it is never the best under the true cost-to-go.
// The true cost-to-go therefore remains the fixed point, and no action masks are needed.
float BellmanTargets::BackUpAction(const StateBatch& batch, std::size_t i,
                                   std::size_t action) const {
  const DomainSpec& spec = domain_.spec();
  const std::size_t child = i * spec.num_actions() + action;
  return spec.action_costs[action] + batch.CostToGo(child);
}

template <class BackupOf, class HasEffect>
void BellmanTargets::WriteTarget(std::span<const std::uint8_t> state, bool is_goal, float bound,
                                 const BackupOf& backup_of, const HasEffect& has_effect,
                                 DataBuffer& examples, std::size_t row) const {
  const DomainSpec& spec = domain_.spec();
  const std::size_t num_actions = spec.num_actions();
  if (exact_ != nullptr && exact_->Write(state, examples, row)) return;
  const std::span<float> target = examples.floats(kTargetColumn, row);
  LabelAllOutputs(examples, row);
  const auto capped = [&](std::size_t action) {
    const float undo_cost = UndoCost(spec, static_cast<Action>(action));
    return std::min(backup_of(action), bound + spec.action_costs[action] + undo_cost);
  };
  if (TakesAction(head_)) {
    target[0] = capped(ActionIn(spec, examples, row));
    return;
  }
  if (IsQ(head_)) {
    for (std::size_t action = 0; action < num_actions; ++action) target[action] = capped(action);
    return;
  }
  float least = std::numeric_limits<float>::infinity();
  for (std::size_t action = 0; action < num_actions; ++action) {
    least = std::min(least, backup_of(action));
  }
  target[0] = is_goal ? 0.0F : std::min(bound, least);
  if (!HasPolicy(head_)) return;
  const std::span<float> policy = target.subspan(1);
  std::ranges::fill(policy, 0.0F);
  if (!is_goal) WriteGreedyAction(backup_of, has_effect, policy);
}

void BellmanTargets::Write(const StateBatch& batch, std::size_t i, DataBuffer& examples,
                           std::size_t row) const {
  WriteTarget(
      batch.rows()[i], batch.is_goal[i] != 0, batch.bounds[i],
      [&](std::size_t action) { return BackUpAction(batch, i, action); },
      [&](std::size_t action) { return ChangesState(batch, i, action); }, examples, row);
}

void BellmanTargets::BackUp(const StateBatch& batch, std::size_t i, StateBackup& backup) const {
  backup.known = batch.children.known_costs().CostOf(batch.rows()[i], batch.is_goal[i] != 0);
  backup.bound = batch.bounds[i];
  backup.actions.resize(static_cast<std::size_t>(domain_.spec().num_actions()));
  backup.has_effect.resize(backup.actions.size());
  for (std::size_t action = 0; action < backup.actions.size(); ++action) {
    backup.actions[action] = BackUpAction(batch, i, action);
    backup.has_effect[action] = ChangesState(batch, i, action) ? 1 : 0;
  }
}

void BellmanTargets::WriteBackup(std::span<const std::uint8_t> state, const StateBackup& backup,
                                 DataBuffer& examples, std::size_t row) const {
  WriteTarget(
      state, backup.known == 0, backup.bound,
      [&](std::size_t action) { return backup.actions[action]; },
      [&](std::size_t action) { return backup.has_effect[action] != 0; }, examples, row);
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
      targets_(domain, config, std::move(exact)) {}

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
  ForRanges(batch.size(), kStatesPerTask, [&](std::size_t first, std::size_t count) {
    const std::size_t row = static_cast<std::size_t>(range.first) + first;
    const ConstRows bytes = states.column(kStateColumn).Slice(row, count);
    std::ranges::copy(bytes.bytes(), batch.rows().Slice(first, count).data());
    std::ranges::copy(states.floats(kBoundColumn).subspan(row, count),
                      batch.bounds.begin() + static_cast<std::ptrdiff_t>(first));
    batch.Expand(first, count);
    EncodeInputs(
        domain_, batch.rows().Slice(first, count),
        DrawActions(domain_.spec(), head_, seed_, update, static_cast<std::int64_t>(row), count),
        examples.column(kInputColumn).Slice(row, count));
  });
}

void StoredStateLabeller::WriteTargets(const StateBatch& batch, RowRange range,
                                       DataBuffer& examples) const {
  const auto first_row = static_cast<std::size_t>(range.first);
  ForRanges(batch.size(), kStatesPerTask, [&](std::size_t first, std::size_t count) {
    for (std::size_t i = first; i < first + count; ++i) {
      targets_.Write(batch, i, examples, first_row + i);
    }
  });
}

}  // namespace tandem
