#include "generate/q_learning.h"

#include <algorithm>
#include <optional>
#include <span>
#include <utility>

#include "base/parallel.h"
#include "base/random.h"
#include "base/timeline.h"
#include "domain/random_walk.h"
#include "generate/pipelined_loop.h"
#include "generate/row_ranges.h"

namespace tandem {

QLearningGenerator::QLearningGenerator(const Domain& domain, Evaluator& network,
                                       const Config& config,
                                       std::shared_ptr<const ExactLabels> exact)
    : domain_(domain),
      config_(config.generate),
      capped_(config.generate.target == Target::kCappedQLearning),
      seed_(config.random_seed()),
      schema_(ExampleSchema(domain.spec(), config)),
      exact_(std::move(exact)),
      arena_(static_cast<int>(*config.generate.workers)),
      batches_{Batch{StateBatch(domain, network, BallOf(exact_)), {}},
               Batch{StateBatch(domain, network, BallOf(exact_)), {}}} {}

void QLearningGenerator::Fill(const FillRequest& request, DataBuffer& out, const StopSignal& stop) {
  const RowRanges ranges = RowRanges::ForOverlap(request.rows, config_.rows_of_chunk());
  const auto expand = [&](std::int64_t turn) {
    Expand(request, ranges[turn], batches_[turn % 2], out);
  };
  const auto evaluate = [&](std::int64_t turn) { batches_[turn % 2].states.Evaluate(); };
  const auto write_labels = [&](std::int64_t turn) {
    WriteLabels(ranges[turn], batches_[turn % 2], out);
  };
  PipelinedLoop(arena_, ranges.size(), stop, expand, evaluate, write_labels).Run();
}

// Sets state i, its bound and its action, which depend on the number of the row only.
void QLearningGenerator::DrawState(const FillRequest& request, std::int64_t row, Batch& batch,
                                   std::size_t i) const {
  const std::span<std::uint8_t> state = batch.states.rows()[i];
  const std::optional<std::size_t> anchor =
      exact_ != nullptr ? exact_->Anchor(request.update, row) : std::nullopt;
  if (anchor) {
    std::ranges::copy(exact_->ball()->state(*anchor), state.begin());
    batch.states.bounds[i] = exact_->ball()->cost(*anchor);
  } else {
    const Random random(seed_, Purpose::kScramble, request.update, row);
    batch.states.bounds[i] = Scramble(domain_, random, config_.max_scramble, state);
  }
  batch.actions[i] = DrawAction(domain_.spec(), seed_, request.update, row);
}

void QLearningGenerator::Expand(const FillRequest& request, RowRange range, Batch& batch,
                                DataBuffer& out) const {
  const auto size = static_cast<std::size_t>(range.rows);
  batch.states.ResizeForSteps(size);
  batch.actions.resize(size);
  ForRanges(size, kStatesPerTask, [&](std::size_t first, std::size_t count) {
    {
      const Span span(Activity::kScramble);
      for (std::size_t i = first; i < first + count; ++i) {
        const std::int64_t row = request.first_row + range.first + static_cast<std::int64_t>(i);
        DrawState(request, row, batch, i);
      }
    }
    const auto actions = std::span(batch.actions).subspan(first, count);
    batch.states.Step(first, actions);
    const Span span(Activity::kWrite);
    const std::size_t row = static_cast<std::size_t>(range.first) + first;
    EncodeInputs(domain_, batch.states.rows().Slice(first, count), actions,
                 out.column(kInputColumn).Slice(row, count));
  });
}

void QLearningGenerator::WriteLabels(RowRange range, const Batch& batch, DataBuffer& out) const {
  const auto first_row = static_cast<std::size_t>(range.first);
  ForRanges(batch.actions.size(), kStatesPerTask, [&](std::size_t first, std::size_t count) {
    for (std::size_t i = first; i < first + count; ++i) WriteLabel(batch, i, out, first_row + i);
  });
}

void QLearningGenerator::WriteLabel(const Batch& batch, std::size_t i, DataBuffer& out,
                                    std::size_t row) const {
  if (exact_ != nullptr && exact_->Write(batch.states.rows()[i], out, row)) return;
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
  const float backup = spec.action_costs[action] + batch.states.CostToGo(i);
  if (!capped_) return backup;
  return std::min(backup,
                  batch.states.bounds[i] + spec.action_costs[action] + UndoCost(spec, action));
}

}  // namespace tandem
