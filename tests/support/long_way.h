// A search that finds the same long solution for each puzzle.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "search/search.h"

namespace tandem {

/// Solves every puzzle by the same actions, except the second one, which it does not solve.
class LongWay final : public Search {
 public:
  explicit LongWay(std::vector<Action> actions) : actions_(std::move(actions)) {}
  void SolveAll(const ProblemBatch& problems, const StopSignal& /*stop*/,
                const Done& done) override {
    for (std::size_t i = 0; i < problems.size(); ++i) {
      if (i == 1) {
        done(i, {.stop_reason = StopReason::kNodeLimit,
                 .best = Partial{.actions = {0}, .cost = 1, .estimate = 2}});
      } else {
        done(i, {.solved = true, .stop_reason = StopReason::kSolved, .actions = actions_});
      }
    }
  }
  std::string Describe() const override { return "a long way"; }
  std::string_view MainKey() const override { return ""; }
  std::string Failure(const SearchResult& /*result*/) const override { return "not found"; }

 private:
  const std::vector<Action> actions_;
};

}  // namespace tandem
