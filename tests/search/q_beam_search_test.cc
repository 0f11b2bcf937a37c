#include <gtest/gtest.h>

#include "search/beam_search.h"
#include "support/small_puzzles.h"

namespace tandem {
namespace {

// Returns the exact Q values.
class TrueActions final : public QEvaluator {
 public:
  explicit TrueActions(const Domain& domain) : domain_(domain), distances_(Distances(domain)) {}

  void Evaluate(ConstRows /*inputs*/, std::span<float> /*values*/) override { FAIL(); }

  void EvaluateActions(ConstRows inputs, std::span<float> values) override {
    const int num_actions = domain_.spec().num_actions();
    std::size_t at = 0;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const State state(inputs[i].begin(), inputs[i].end());
      for (int a = 0; a < num_actions; ++a) {
        const State child = After(domain_, state, {static_cast<Action>(a)});
        values[at++] = 1.0F + static_cast<float>(distances_.at(child));
      }
    }
  }

 private:
  const Domain& domain_;
  const StateMap distances_;
};

TEST(QBeamSearch, WidthOneFollowsExactQValues) {
  const PancakeDomain pancakes(6);
  TrueActions truth(pancakes);
  BeamOptions options = {.width = 1, .max_length = 10};
  QBeamSearch search(pancakes, truth, options);
  for (const auto& [state, distance] : Distances(pancakes)) {
    const SearchResult result = search.Solve(state, StopSignal());
    ASSERT_TRUE(result.solved);
    ASSERT_EQ(std::ssize(result.actions), distance);
    ASSERT_TRUE(Solves(pancakes, state, result.actions));
  }
}

TEST(QBeamSearch, FailedSearchReportsTheLeastEstimate) {
  const PancakeDomain pancakes(6);
  TrueActions truth(pancakes);
  QBeamSearch search(pancakes, truth, {.width = 3, .max_length = 2});
  StateMap distances = Distances(pancakes);
  const auto farthest =
      std::ranges::max_element(distances, {}, [](const auto& entry) { return entry.second; });
  const SearchResult result = search.Solve(farthest->first, StopSignal());
  EXPECT_FALSE(result.solved);
  ASSERT_TRUE(result.best.has_value());
  EXPECT_EQ(result.best->estimate, static_cast<float>(farthest->second - 2));
  EXPECT_EQ(distances.at(After(pancakes, farthest->first, result.best->actions)),
            farthest->second - 2);
}

}  // namespace
}  // namespace tandem
