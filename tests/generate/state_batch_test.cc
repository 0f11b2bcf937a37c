#include <gtest/gtest.h>

#include "generate/bellman.h"
#include "support/independent_evaluator.h"
#include "support/path_domain.h"
#include "support/stand_in_evaluator.h"

namespace tandem {
namespace {

float TenMore(std::span<const std::uint8_t> state) { return 10.0F + state[0]; }

// Expands and encodes states that are single bytes.
void Expand(const std::vector<std::uint8_t>& states, StateBatch& batch) {
  batch.Resize(states.size());
  batch.states = states;
  batch.Expand(0, states.size());
}

TEST(StateBatch, EvaluatesNoGoalsRepeatsOrKnownChildrenIfRowsAreIndependent) {
  const PathDomain path(6);
  IndependentEvaluator network(TenMore);
  StateBatch batch(path, network);
  Expand({1, 3, 5}, batch);
  EXPECT_TRUE(std::ranges::equal(batch.children.children().bytes(), std::vector{0, 2, 2, 4, 4, 5}));
  batch.estimates = {0, 0, 7};
  KnownEstimates known;
  batch.ReuseEstimates(2, 1, known);
  batch.Evaluate();
  EXPECT_EQ(batch.child_estimates, (std::vector<float>{0, 12, 12, 14, 14, 7}));
  EXPECT_EQ(network.rows(), 2U);
}

TEST(StateBatch, EvaluatesAllChildrenInOneCallIfRowsAreNotIndependent) {
  const PathDomain path(9);
  class Recorder final : public Evaluator {
   public:
    void Evaluate(ConstRows inputs, std::span<float> values) override {
      sizes_.push_back(inputs.size());
      for (std::size_t i = 0; i < inputs.size(); ++i) values[i] = TenMore(inputs[i]);
    }
    const std::vector<std::size_t>& sizes() const { return sizes_; }

   private:
    std::vector<std::size_t> sizes_;
  } network;
  StateBatch batch(path, network);
  Expand({1, 8, 4}, batch);
  batch.estimates = {7, 7, 7};
  KnownEstimates known;
  batch.ReuseEstimates(0, 3, known);
  batch.Evaluate();
  EXPECT_EQ(batch.child_estimates, (std::vector<float>{10, 12, 17, 18, 13, 15}));
  EXPECT_EQ(network.sizes(), (std::vector<std::size_t>{6}));
}

TEST(StateBatch, EmptyBatchEvaluatesNothing) {
  const PathDomain path(6);
  StandInEvaluator never([](std::span<const std::uint8_t>) -> float {
    ADD_FAILURE() << "nothing is to be evaluated";
    return 0;
  });
  StateBatch batch(path, never);
  Expand({}, batch);
  batch.Evaluate();
  EXPECT_TRUE(batch.child_estimates.empty());
}

}  // namespace
}  // namespace tandem
