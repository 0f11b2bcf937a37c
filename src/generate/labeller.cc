#include "generate/labeller.h"

#include <algorithm>

#include "base/parallel.h"
#include "base/timeline.h"

namespace tandem {
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
