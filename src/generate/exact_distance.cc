#include "generate/exact_distance.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/random.h"
#include "base/timeline.h"

namespace tandem {
namespace {

constexpr std::int64_t kBlockRows = 512;

}  // namespace

ExactDistanceGenerator::ExactDistanceGenerator(const Domain& domain, const Config& config,
                                               std::shared_ptr<const ExactLabels> exact)
    : domain_(domain),
      head_(config.network.head),
      range_rows_(config.generate.chunk_rows),
      seed_(static_cast<std::uint64_t>(config.seed)),
      schema_(ExampleSchema(domain.spec(), config)),
      exact_(std::move(exact)),
      arena_(static_cast<int>(*config.generate.workers)) {}

void ExactDistanceGenerator::Fill(const FillRequest& request, DataBuffer& out,
                                  const StopSignal& stop) {
  FillRanges(arena_, RowRanges(request.rows, range_rows_), stop,
             [&](RowRange range) { FillRange(request, range, out); });
}

// Works in blocks, so that the states stay in cache until they are encoded.
void ExactDistanceGenerator::FillRange(const FillRequest& request, RowRange range,
                                       DataBuffer& out) const {
  const auto state_size = static_cast<std::size_t>(domain_.spec().state_size);
  const RowRanges blocks(range.rows, kBlockRows);
  std::vector<std::uint8_t> memory(static_cast<std::size_t>(kBlockRows) * state_size);
  for (std::int64_t block = 0; block < blocks.size(); ++block) {
    const auto first = static_cast<std::size_t>(range.first + blocks[block].first);
    const Rows states(memory.data(), static_cast<std::size_t>(blocks[block].rows), state_size);
    {
      const Span span(Phase::kScramble);
      for (std::size_t i = 0; i < states.size(); ++i) {
        std::ranges::copy(StateOf(request, first + i), states[i].begin());
      }
    }
    const Span span(Phase::kWrite);
    EncodeInputs(domain_, states,
                 DrawActions(domain_.spec(), head_, seed_, request.update,
                             request.first_row + static_cast<std::int64_t>(first), states.size()),
                 out.column(kInputColumn).Slice(first, states.size()));
    for (std::size_t i = 0; i < states.size(); ++i) exact_->Write(states[i], out, first + i);
  }
}

std::span<const std::uint8_t> ExactDistanceGenerator::StateOf(const FillRequest& request,
                                                              std::size_t row) const {
  Random random(seed_, Purpose::kScramble, request.update, request.first_row + row);
  return exact_->ball()->state(random.Below(exact_->ball()->size()));
}

}  // namespace tandem
