#include "generate/exact_distance.h"

#include <algorithm>
#include <utility>

#include "base/random.h"
#include "base/timeline.h"
#include "generate/action_draw.h"

namespace tandem {

ExactDistanceGenerator::ExactDistanceGenerator(const Domain& domain, const Config& config,
                                               std::shared_ptr<const ExactLabels> exact)
    : domain_(domain),
      head_(config.network.head),
      range_rows_(config.generate.rows_of_chunk()),
      seed_(config.random_seed()),
      schema_(ExampleSchema(domain.spec(), config)),
      exact_(std::move(exact)),
      arena_(static_cast<int>(*config.generate.workers)) {}

void ExactDistanceGenerator::Fill(const FillRequest& request, DataBuffer& out,
                                  const StopSignal& stop) {
  FillRanges(arena_, RowRanges(request.rows, range_rows_), stop,
             [&](RowRange range) { FillRange(request, range, out); });
}

void ExactDistanceGenerator::FillRange(const FillRequest& request, RowRange range,
                                       DataBuffer& out) const {
  FillBlocks(range, domain_.spec().state_size, [&](std::size_t first, Rows states) {
    {
      const Span span(Activity::kScramble);
      for (std::size_t i = 0; i < states.size(); ++i) {
        std::ranges::copy(StateOf(request, first + i), states[i].begin());
      }
    }
    const Span span(Activity::kWrite);
    EncodeInputs(domain_, states,
                 DrawActions(domain_.spec(), head_, seed_, request.update,
                             request.first_row + static_cast<std::int64_t>(first), states.size()),
                 out.column(kInputColumn).Slice(first, states.size()));
    for (std::size_t i = 0; i < states.size(); ++i) exact_->Write(states[i], out, first + i);
  });
}

std::span<const std::uint8_t> ExactDistanceGenerator::StateOf(const FillRequest& request,
                                                              std::size_t row) const {
  Random random(seed_, Purpose::kScramble, request.update, request.first_row + row);
  return exact_->ball()->state(random.Below(exact_->ball()->size()));
}

}  // namespace tandem
