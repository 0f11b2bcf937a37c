// Enumerates every state of whole puzzles.
#include <gtest/gtest.h>

#include "support/breadth_first.h"
#include "tandem/registry.h"

namespace tandem {
namespace {

TEST(Cube2, HasTheKnownNumberOfStatesAndDepth) {
  const auto levels =
      CountLevels(*MakeDomain("cube2"), 1000, [](auto state) { return KeyInBase(state, 6); });
  EXPECT_EQ(levels, (std::vector<std::size_t>{1, 6, 27, 120, 534, 2256, 8969, 33'058, 114'149,
                                              360'508, 930'588, 1'350'852, 782'536, 90'280, 276}));
}

}  // namespace
}  // namespace tandem
