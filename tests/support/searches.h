// The searches, by the names of their methods, for tests that make one with a ball of their own.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "search/search.h"

namespace tandem {

/// SearchBy is the search that MakeSearch makes for a method.
template <SearchMaker* kMake>
class SearchBy final : public Search {
 public:
  SearchBy(const Domain& domain, Evaluator& network, const Config& config,
           std::shared_ptr<const GoalBall> ball = nullptr)
      : search_(kMake(domain, network, config, std::move(ball))) {}

  void SolveAll(const ProblemBatch& problems, const StopSignal& stop, const Done& done) override {
    search_->SolveAll(problems, stop, done);
  }
  std::string Describe() const override { return search_->Describe(); }
  std::string_view MainKey() const override { return search_->MainKey(); }
  std::string Failure(const SearchResult& result) const override {
    return search_->Failure(result);
  }

 private:
  const std::unique_ptr<Search> search_;
};

using AStar = SearchBy<MakeAStar>;
using QStar = SearchBy<MakeQStar>;
using BeamSearch = SearchBy<MakeBeamSearch>;
using AnytimeBeamSearch = SearchBy<MakeAnytimeBeamSearch>;
using IdaStar = SearchBy<MakeIdaStar>;
using GreedySearch = SearchBy<MakeGreedySearch>;

}  // namespace tandem
