// Compares beam search by tensor operations with exact solutions of many random puzzles.
#include <gtest/gtest.h>

#include "support/tensor_trials.h"

namespace tandem {
namespace {

TEST(RandomPuzzles, TensorBeamAgreesWithExactSolutionsInManyTrials) {
  RunTensorTrials(1'000'000, 20'000);
}

}  // namespace
}  // namespace tandem
