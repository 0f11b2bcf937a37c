#include "generate/supervised.h"

#include <algorithm>

#include "base/timeline.h"
#include "search/search.h"

namespace tandem {

SupervisedGenerator::SupervisedGenerator(const Domain& domain, const Config& config)
    : domain_(domain),
      head_(config.network.head),
      labels_(domain, head_),
      range_rows_(config.generate.rows_of_chunk()),
      seed_(config.random_seed()),
      schema_(ExampleSchema(domain.spec(), config)),
      paths_(ReadSolvedPaths(config.generate.paths, domain)),
      arena_(static_cast<int>(*config.generate.workers)) {
  std::erase_if(paths_, [this](const SolvedPath& path) { return StatesOf(path) == 0; });
  double total = 0;
  for (const SolvedPath& path : paths_) {
    total += path.weight * static_cast<double>(StatesOf(path));
    total_weight_.push_back(total);
  }
}

// The number of states of a path that can be drawn.
std::size_t SupervisedGenerator::StatesOf(const SolvedPath& path) const {
  return path.actions.size() + (ValuesStates(head_) ? 1 : 0);
}

void SupervisedGenerator::Fill(const FillRequest& request, DataBuffer& out,
                               const StopSignal& stop) {
  FillRanges(arena_, RowRanges(request.rows, range_rows_), stop,
             [&](RowRange range) { FillRange(request, range, out); });
}

const SolvedPath& SupervisedGenerator::DrawPath(Random& random) const {
  const double at = random.Share() * total_weight_.back();
  const auto path = std::ranges::upper_bound(total_weight_, at) - total_weight_.begin();
  // Rounding may give the total itself.
  return paths_[std::min(static_cast<std::size_t>(path), paths_.size() - 1)];
}

void SupervisedGenerator::FillRange(const FillRequest& request, RowRange range,
                                    DataBuffer& out) const {
  std::vector<std::uint8_t> state;
  for (std::int64_t i = range.first; i < range.first + range.rows; ++i) {
    const auto row = static_cast<std::size_t>(i);
    Random random(seed_, Purpose::kScramble, request.update, request.first_row + i);
    std::span<const Action> rest;
    {
      const Span span(Activity::kScramble);
      const SolvedPath& path = DrawPath(random);
      const std::size_t taken = random.Below(StatesOf(path));
      state = path.start;
      ApplyAll(domain_, std::span(path.actions).first(taken), state);
      rest = std::span(path.actions).subspan(taken);
    }
    labels_.Write(state, rest, out, row);
  }
}

}  // namespace tandem
