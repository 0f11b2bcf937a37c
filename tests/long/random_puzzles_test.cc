// Compares every search with exact solutions of many random puzzles.
#include <gtest/gtest.h>

#include "support/compare_searches.h"

namespace tandem {
namespace {

// Other seeds than those of the short test.
TEST(RandomPuzzles, EverySearchAgreesWithExactSolutionsInManyTrials) {
  RunTrials(1'000'000, 2'000'000);
}

}  // namespace
}  // namespace tandem
