#include "generate/bellman.h"

#include <algorithm>
#include <limits>

#include "base/parallel.h"
#include "base/timeline.h"
#include "domain/random_walk.h"
#include "generate/generator.h"
#include "search/expander.h"

namespace tandem {

std::int64_t BatchExpander::BytesFor(const DomainSpec& spec, std::int64_t states) {
  constexpr std::int64_t kIsGoal = 1;
  const auto number = static_cast<std::int64_t>(sizeof(float));
  const auto num_children = states * static_cast<std::int64_t>(spec.num_actions());
  return states * (spec.state_size + kIsGoal + number) + Children::BytesFor(spec, states) +
         num_children * (spec.input.positions + number);
}

void BatchExpander::Resize(ExpandedBatch& batch, std::size_t states) const {
  const DomainSpec& spec = domain_.spec();
  batch.states.resize(states * spec.state_size);
  batch.is_goal.resize(states);
  batch.bounds.resize(states);
  batch.children.Resize(states);
  batch.child_inputs.resize(batch.children.size() * spec.input.positions);
  batch.child_values.resize(batch.children.size());
}

void BatchExpander::Expand(ExpandedBatch& batch, std::size_t first, std::size_t count) const {
  const ConstRows states = batch.rows().Slice(first, count);
  {
    const Span span(Phase::kExpand);
    domain_.IsGoal(states, std::span(batch.is_goal).subspan(first, count));
    batch.children.Expand(states, first);
  }
  const Span span(Phase::kWrite);
  const std::size_t num_actions = domain_.spec().num_actions();
  const std::size_t input_size = domain_.spec().input.positions;
  domain_.Encode(batch.children.rows().Slice(first * num_actions, count * num_actions),
                 Rows(batch.child_inputs.data(), batch.children.size(), input_size)
                     .Slice(first * num_actions, count * num_actions));
}

void BatchExpander::Evaluate(ExpandedBatch& batch) const {
  if (batch.size() == 0) return;
  const Span span(Phase::kEvaluate);
  const auto input_size = static_cast<std::size_t>(domain_.spec().input.positions);
  network_.Evaluate(ConstRows(batch.child_inputs.data(), batch.children.size(), input_size),
                    batch.child_values);
  CheckEstimates(domain_, batch.child_values,
                 [&](std::size_t child) { return batch.children.rows()[child]; });
}

void BellmanLabels::Write(const ExpandedBatch& batch, std::size_t i, std::span<float> label) const {
  // The child of an action that does not apply is a copy of its parent, and is backed up like any
  // other child. Since the action costs something, it is never the best under the true cost-to-go.
  // The true cost-to-go therefore remains the fixed point, and no action masks are needed.
  const std::size_t num_actions = spec_.num_actions();
  const auto backup = [&](std::size_t action) {
    const std::size_t child = i * num_actions + action;
    return spec_.action_costs[action] + (batch.children.is_goal()[child] != 0
                                             ? 0.0F
                                             : std::max(batch.child_values[child], 0.0F));
  };
  const float bound = capped_ ? batch.bounds[i] : std::numeric_limits<float>::infinity();
  if (head_ == Head::kQ) {
    for (std::size_t action = 0; action < num_actions; ++action) {
      const float cost = spec_.action_costs[action];
      const float undo_cost = UndoCost(spec_, static_cast<Action>(action));
      label[action] = std::min(backup(action), bound + cost + undo_cost);
    }
    return;
  }
  float best = bound;
  for (std::size_t action = 0; action < num_actions; ++action) {
    best = std::min(best, backup(action));
  }
  label[0] = batch.is_goal[i] != 0 ? 0.0F : best;
}

ExampleWriter::ExampleWriter(const Domain& domain, Head head, bool capped)
    : domain_(domain),
      labels_(domain.spec(), head, capped),
      width_(TargetWidth(domain.spec(), head)) {}

void ExampleWriter::WriteState(const ExpandedBatch& batch, std::size_t i, DataBuffer& out,
                               std::size_t row) const {
  domain_.Encode(batch.rows().Slice(i, 1), out.column(kInputColumn).Slice(row, 1));
}

void ExampleWriter::WriteLabel(const ExpandedBatch& batch, std::size_t i, DataBuffer& out,
                               std::size_t row) const {
  labels_.Write(batch, i, out.floats(kTargetColumn).subspan(row * width_, width_));
}

void StateWriter::WriteState(const ExpandedBatch& batch, std::size_t i, DataBuffer& out,
                             std::size_t row) const {
  std::ranges::copy(batch.rows()[i], out.column(kStateColumn)[row].begin());
  out.floats(kBoundColumn)[row] = batch.bounds[i];
}

namespace {

constexpr std::size_t kGrain = 64;  // states per TBB task

}  // namespace

BellmanLabeller::BellmanLabeller(const Domain& domain, Evaluator& target_network,
                                 LabellerOptions options)
    : options_(options),
      lookahead_(domain, target_network),
      writer_(domain, options.head, options.capped),
      turns_(options.workers),
      expanded_{ExpandedBatch(domain), ExpandedBatch(domain)} {}

void BellmanLabeller::Label(const DataBuffer& states, DataBuffer& examples, const StopSignal& stop,
                            const std::function<void()>& between) {
  const Chunks chunks(static_cast<std::int64_t>(states.rows()), options_.chunk_rows);
  const auto expand = [&](std::int64_t i) {
    Expand(states, chunks[i], examples, expanded_[i % 2]);
  };
  turns_.Run(chunks.size(), stop, expand, [&](std::int64_t i) {
    between();
    lookahead_.Evaluate(expanded_[i % 2]);
    BackUp(chunks[i], expanded_[i % 2], examples);
  });
}

void BellmanLabeller::Expand(const DataBuffer& states, Chunk chunk, DataBuffer& examples,
                             ExpandedBatch& batch) const {
  const auto rows = static_cast<std::size_t>(chunk.rows);
  const auto first_row = static_cast<std::size_t>(chunk.first);
  lookahead_.Resize(batch, rows);
  ForRanges(rows, kGrain, [&](std::size_t first, std::size_t count) {
    const ConstRows bytes = states.column(kStateColumn).Slice(first_row + first, count);
    std::ranges::copy(bytes.bytes(), batch.rows().Slice(first, count).data());
    std::ranges::copy(states.floats(kBoundColumn).subspan(first_row + first, count),
                      batch.bounds.begin() + static_cast<std::ptrdiff_t>(first));
    lookahead_.Expand(batch, first, count);
    for (std::size_t i = first; i < first + count; ++i) {
      writer_.WriteState(batch, i, examples, first_row + i);
    }
  });
}

void BellmanLabeller::BackUp(Chunk chunk, const ExpandedBatch& batch, DataBuffer& examples) const {
  const Span span(Phase::kBackUp);
  for (std::size_t i = 0; i < batch.size(); ++i) {
    writer_.WriteLabel(batch, i, examples, static_cast<std::size_t>(chunk.first) + i);
  }
}

}  // namespace tandem
