// A search that follows no network.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "config/config.h"
#include "search/search.h"

namespace tandem {

/// RandomSearch takes random actions until it meets a goal, search.max_length actions at most.
class RandomSearch final : public Search {
 public:
  RandomSearch(const Domain& domain, const Config& config)
      : domain_(domain), seed_(config.random_seed()), config_(config.search) {}

  void SolveAll(const ProblemBatch& problems, const StopSignal& stop, const Done& done) override;

  std::string Describe() const override { return "random actions"; }
  std::string_view MainKey() const override { return "search.max_length"; }
  std::string Failure(const SearchResult& result) const override;

 private:
  const Domain& domain_;
  const std::uint64_t seed_;
  const SearchConfig config_;
};

}  // namespace tandem
