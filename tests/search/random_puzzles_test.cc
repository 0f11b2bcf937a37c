// Compares every search with exact solutions of random puzzles.
#include <gtest/gtest.h>

#include "support/compare_searches.h"

namespace tandem {
namespace {

TEST(RandomPuzzles, EverySearchAgreesWithExactSolutions) { RunTrials(0, 10'000); }

}  // namespace
}  // namespace tandem
