#include "generate/generator.h"

#include "generate/value_iteration.h"
#include "generate/walk_length.h"

namespace tandem {

std::unique_ptr<Generator> MakeGenerator(const Domain& domain, const Config& config,
                                         AskedNetwork asked) {
  const GenerateConfig& generate = config.generate;
  const auto seed = static_cast<std::uint64_t>(config.seed);
  const int workers = static_cast<int>(*generate.workers);
  if (generate.target == Target::kWalkLength) {
    return std::make_unique<WalkLengthGenerator>(
        domain, WalkLengthOptions{.head = config.network.head,
                                  .seed = seed,
                                  .length = generate.max_scramble,
                                  .chunk_rows = generate.chunk_rows,
                                  .workers = workers});
  }
  const bool searches = generate.search != GenerateSearch::kNone;
  return std::make_unique<ValueIterationGenerator>(
      domain, *asked.network,
      ValueIterationOptions{.head = config.network.head,
                            .capped = generate.target == Target::kCappedValueIteration,
                            .seed = seed,
                            .max_scramble = generate.max_scramble,
                            .chunk_rows = generate.chunk_rows,
                            .workers = workers,
                            .search = {.method = generate.search,
                                       .epsilon = generate.search_epsilon,
                                       .weight = static_cast<float>(generate.search_weight)},
                            .search_iterations = searches ? generate.search_iterations : 1,
                            .labelled = asked.labels});
}

}  // namespace tandem
