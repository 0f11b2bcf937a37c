#include "generate/stored_state_labeller.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "base/parallel.h"
#include "generate/action_draw.h"

namespace tandem {

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
