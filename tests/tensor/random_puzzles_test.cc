// Compares beam search by tensor operations with exact solutions of random puzzles.
#include <gtest/gtest.h>

#include "support/tensor_trials.h"

namespace tandem {
namespace {

TEST(RandomPuzzles, TensorBeamAgreesWithExactSolutions) { RunTensorTrials(0, 1'000); }

}  // namespace
}  // namespace tandem
