#include <gtest/gtest.h>

#include "search/evaluation.h"
#include "support/independent_evaluator.h"
#include "support/path_domain.h"
#include "support/stand_in_evaluator.h"

namespace tandem {
namespace {

float TenMore(std::span<const std::uint8_t> state) { return 10.0F + state[0]; }

// Expands and encodes states that are single bytes.
void Expand(const std::vector<std::uint8_t>& states, Expander& children,
            ChildEstimates& estimates) {
  children.Expand(ConstRows(states.data(), states.size(), 1));
  estimates.Resize(children.size());
  estimates.Encode(children, 0, children.size());
}

TEST(ChildEstimates, EvaluatesNoGoalsRepeatsOrKnownChildrenIfRowsAreIndependent) {
  const PathDomain path(6);
  IndependentEvaluator network(TenMore);
  Expander children(path);
  ChildEstimates estimates(path, network);
  ASSERT_TRUE(estimates.skips_known());
  Expand({1, 3, 5}, children, estimates);
  EXPECT_TRUE(std::ranges::equal(children.children().bytes(), std::vector{0, 2, 2, 4, 4, 5}));
  estimates.Set(5, 7);
  estimates.Evaluate(children);
  EXPECT_TRUE(std::ranges::equal(estimates.values(), std::vector<float>{0, 12, 12, 14, 14, 7}));
  EXPECT_EQ(network.rows(), 2U);
}

TEST(ChildEstimates, EvaluatesAllChildrenInOneCallIfRowsAreNotIndependent) {
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
  Expander children(path);
  ChildEstimates estimates(path, network);
  EXPECT_FALSE(estimates.skips_known());
  Expand({1, 8, 4}, children, estimates);
  estimates.Evaluate(children);
  EXPECT_TRUE(std::ranges::equal(estimates.values(), std::vector<float>{10, 12, 17, 18, 13, 15}));
  EXPECT_EQ(network.sizes(), (std::vector<std::size_t>{6}));
}

TEST(ChildEstimates, EmptyBatchEvaluatesNothing) {
  const PathDomain path(6);
  StandInEvaluator never([](std::span<const std::uint8_t>) -> float {
    ADD_FAILURE() << "nothing is to be evaluated";
    return 0;
  });
  Expander children(path);
  ChildEstimates estimates(path, never);
  Expand({}, children, estimates);
  estimates.Evaluate(children);
  EXPECT_TRUE(estimates.values().empty());
}

}  // namespace
}  // namespace tandem
