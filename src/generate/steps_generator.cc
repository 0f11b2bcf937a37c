#include "generate/steps_generator.h"

#include <vector>

#include "base/random.h"
#include "data/examples.h"
#include "domain/random_walk.h"
#include "generate/row_ranges.h"

namespace tandem {

StepsGenerator::StepsGenerator(const Domain& domain, const Config& config)
    : domain_(domain),
      max_scramble_(config.generate.max_scramble),
      range_rows_(config.generate.rows_of_chunk()),
      seed_(config.random_seed()),
      schema_(ExampleSchema(domain.spec(), config)),
      arena_(static_cast<int>(*config.generate.workers)) {}

void StepsGenerator::Fill(const FillRequest& request, DataBuffer& out, const StopSignal& stop) {
  FillRanges(arena_, RowRanges(request.rows, range_rows_), stop, [&](RowRange range) {
    std::vector<std::uint8_t> state(static_cast<std::size_t>(domain_.spec().state_size));
    for (std::int64_t i = range.first; i < range.first + range.rows; ++i) {
      const std::int64_t row = request.first_row + i;
      Random depth(seed_, Purpose::kDepth, request.update, row);
      const auto steps =
          1 + static_cast<std::int64_t>(depth.Below(static_cast<std::uint64_t>(max_scramble_)));
      WalkFromGoal(domain_, Random(seed_, Purpose::kScramble, request.update, row), steps, state);
      const auto at = static_cast<std::size_t>(i);
      domain_.Encode(ConstRows(std::span<const std::uint8_t>(state)),
                     out.column(kInputColumn).Slice(at, 1));
      out.floats(kTargetColumn, at)[0] = static_cast<float>(steps);
    }
  });
}

}  // namespace tandem
