#include "generate/q_learning.h"

#include <algorithm>
#include <optional>
#include <span>
#include <utility>

#include "base/fault_point.h"
#include "base/parallel.h"
#include "base/random.h"
#include "base/timeline.h"
#include "domain/random_walk.h"
#include "generate/pipelined_loop.h"
#include "generate/row_ranges.h"
#include "search/evaluation.h"

namespace tandem {

QLearningGenerator::QLearningGenerator(const Domain& domain, Evaluator& network,
                                       const Config& config,
                                       std::shared_ptr<const ExactLabels> exact)
    : domain_(domain),
      network_(network),
      config_(config.generate),
      capped_(config.generate.target == Target::kCappedQLearning),
      seed_(config.random_seed()),
      schema_(ExampleSchema(domain.spec(), config)),
      exact_(std::move(exact)),
      known_(domain, BallOf(exact_)),
      arena_(static_cast<int>(*config.generate.workers)) {
  CheckEstimatesStates("Q-learning", network);
}

void QLearningGenerator::Batch::Resize(const DomainSpec& spec, std::size_t size) {
  const auto state_size = static_cast<std::size_t>(spec.state_size);
  states.resize(size * state_size);
  bounds.resize(size);
  actions.resize(size);
  children.resize(size * state_size);
  is_goal.resize(size);
  known_costs.resize(size);
  inputs.resize(size * static_cast<std::size_t>(spec.input.positions));
  estimates.resize(size);
}

Rows QLearningGenerator::StatesOf(std::vector<std::uint8_t>& bytes) const {
  const auto state_size = static_cast<std::size_t>(domain_.spec().state_size);
  return {bytes.data(), bytes.size() / state_size, state_size};
}

void QLearningGenerator::Fill(const FillRequest& request, DataBuffer& out, const StopSignal& stop) {
  const RowRanges ranges = RowRanges::ForOverlap(request.rows, config_.rows_of_chunk());
  const auto expand = [&](std::int64_t turn) {
    Expand(request, ranges[turn], batches_[turn % 2], out);
  };
  const auto evaluate = [&](std::int64_t turn) { Evaluate(batches_[turn % 2]); };
  const auto write_labels = [&](std::int64_t turn) {
    WriteLabels(ranges[turn], batches_[turn % 2], out);
  };
  PipelinedLoop(arena_, ranges.size(), stop, expand, evaluate, write_labels).Run();
}

// Sets state i, its bound and its action, which depend on the number of the row only.
void QLearningGenerator::DrawState(const FillRequest& request, std::int64_t row, Batch& batch,
                                   std::size_t i) const {
  const std::span<std::uint8_t> state = StatesOf(batch.states)[i];
  const std::optional<std::size_t> anchor =
      exact_ != nullptr ? exact_->Anchor(request.update, row) : std::nullopt;
  if (anchor) {
    std::ranges::copy(exact_->ball()->state(*anchor), state.begin());
    batch.bounds[i] = exact_->ball()->cost(*anchor);
  } else {
    const Random random(seed_, Purpose::kScramble, request.update, row);
    batch.bounds[i] = Scramble(domain_, random, config_.max_scramble, state);
  }
  batch.actions[i] = DrawAction(domain_.spec(), seed_, request.update, row);
}

void QLearningGenerator::Expand(const FillRequest& request, RowRange range, Batch& batch,
                                DataBuffer& out) const {
  const auto size = static_cast<std::size_t>(range.rows);
  batch.Resize(domain_.spec(), size);
  const Rows states = StatesOf(batch.states);
  const Rows children = StatesOf(batch.children);
  const auto input_size = static_cast<std::size_t>(domain_.spec().input.positions);
  const Rows inputs(batch.inputs.data(), size, input_size);
  ForRanges(size, kStatesPerTask, [&](std::size_t first, std::size_t count) {
    FaultPoint(Fault::kSimulator);
    {
      const Span span(Activity::kScramble);
      for (std::size_t i = first; i < first + count; ++i) {
        const std::int64_t row = request.first_row + range.first + static_cast<std::int64_t>(i);
        DrawState(request, row, batch, i);
      }
    }
    {
      const Span span(Activity::kExpand);
      const Rows some = children.Slice(first, count);
      std::ranges::copy(states.Slice(first, count).bytes(), some.data());
      domain_.Apply(some, std::span(batch.actions).subspan(first, count));
      domain_.IsGoal(some, std::span(batch.is_goal).subspan(first, count));
      for (std::size_t i = first; i < first + count; ++i) {
        batch.known_costs[i] = known_.CostOf(children[i], batch.is_goal[i] != 0);
      }
    }
    const Span span(Activity::kWrite);
    domain_.Encode(children.Slice(first, count), inputs.Slice(first, count));
    const std::size_t row = static_cast<std::size_t>(range.first) + first;
    EncodeInputs(domain_, states.Slice(first, count),
                 std::span(batch.actions).subspan(first, count),
                 out.column(kInputColumn).Slice(row, count));
  });
}

void QLearningGenerator::Evaluate(Batch& batch) const {
  const Span span(Activity::kEvaluate);
  const std::size_t size = batch.estimates.size();
  network_.Evaluate(ConstRows(batch.inputs.data(), size, batch.inputs.size() / size),
                    batch.estimates);
  RejectNan(domain_, batch.estimates, [&](std::size_t i) { return StatesOf(batch.children)[i]; });
}

void QLearningGenerator::WriteLabels(RowRange range, Batch& batch, DataBuffer& out) const {
  const auto first_row = static_cast<std::size_t>(range.first);
  ForRanges(batch.actions.size(), kStatesPerTask, [&](std::size_t first, std::size_t count) {
    for (std::size_t i = first; i < first + count; ++i) WriteLabel(batch, i, out, first_row + i);
  });
}

void QLearningGenerator::WriteLabel(Batch& batch, std::size_t i, DataBuffer& out,
                                    std::size_t row) const {
  if (exact_ != nullptr && exact_->Write(StatesOf(batch.states)[i], out, row)) return;
  const std::span<float> label = out.floats(kTargetColumn, row);
  if (!HasWeights(schema_)) {  // the action is part of the input
    label[0] = LabelOf(batch, i);
    return;
  }
  const std::span<float> weight = out.floats(kWeightColumn, row);
  std::ranges::fill(label, 0.0F);
  std::ranges::fill(weight, 0.0F);
  label[batch.actions[i]] = LabelOf(batch, i);
  weight[batch.actions[i]] = 1;
}

float QLearningGenerator::LabelOf(const Batch& batch, std::size_t i) const {
  const DomainSpec& spec = domain_.spec();
  const Action action = batch.actions[i];
  const float backup =
      spec.action_costs[action] + known_.CostToGo(batch.known_costs[i], batch.estimates[i]);
  if (!capped_) return backup;
  return std::min(backup, batch.bounds[i] + spec.action_costs[action] + UndoCost(spec, action));
}

}  // namespace tandem
