#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "data/examples.h"
#include "generate/labels.h"
#include "support/small_puzzles.h"
#include "tandem/registry.h"

namespace tandem {
namespace {

using testing::Each;
using testing::ElementsAre;

// The label that the path `rest` gives the goal's row, whatever state that is.
std::vector<float> LabelOf(const Domain& domain, Head head, const std::vector<Action>& rest) {
  DataBuffer out(ExampleSchema(domain.spec(), head), 1);
  std::vector<std::uint8_t> state(static_cast<std::size_t>(domain.spec().state_size));
  domain.WriteGoals(Rows(std::span(state)));
  const PathRow path{.row = 0, .rest = rest};
  PathLabels(domain, head).Write(ConstRows(std::span(state)), {&path, 1}, out);
  const auto label = out.floats(kTargetColumn);
  return {label.begin(), label.end()};
}

TEST(PathLabels, OfAPolicyAreTheFirstActionWhereTheOrderMatters) {
  const auto puzzle = MakeDomain("npuzzle:3");
  EXPECT_THAT(LabelOf(*puzzle, Head::kPolicy, {2, 1, 0}), ElementsAre(0, 0, 1, 0));
  EXPECT_THAT(LabelOf(*puzzle, Head::kVp, {2, 1, 0}), ElementsAre(3, 0, 0, 1, 0));
  EXPECT_THAT(LabelOf(*puzzle, Head::kPolicy, {}), Each(0.0F));
}

// The blank of the goal is in the corner, so two actions do not apply.
TEST(PathLabels, OfAQNetAreTheFirstActionAndThoseThatDoNotApply) {
  const auto puzzle = MakeDomain("npuzzle:3");
  State goal = GoalOf(*puzzle);
  std::vector<std::uint8_t> applies(4);
  puzzle->Mask(ConstRows(goal), applies);
  const auto first = static_cast<Action>(std::ranges::find(applies, 1) - applies.begin());
  for (const std::vector<Action>& rest : {std::vector<Action>{}, {first, 1, 0}}) {
    DataBuffer out(ExampleSchema(puzzle->spec(), Head::kQ, /*weighted=*/true), 1);
    const PathRow path{.row = 0, .rest = rest};
    PathLabels(*puzzle, Head::kQ).Write(ConstRows(std::span(goal)), {&path, 1}, out);
    const auto cost = static_cast<float>(rest.size());
    for (std::size_t action = 0; action < 4; ++action) {
      const bool is_first = !rest.empty() && action == first;
      EXPECT_EQ(out.floats(kWeightColumn)[action], is_first || applies[action] == 0 ? 1 : 0);
      if (applies[action] == 0) {
        EXPECT_EQ(out.floats(kTargetColumn)[action], 1 + cost);
      }
      if (is_first) {
        EXPECT_EQ(out.floats(kTargetColumn)[action], cost);
      }
    }
  }
}

TEST(PathLabels, OfAPolicyShareTheProbabilityWhereActionsCommute) {
  const auto lights = MakeDomain("lights_out:2");
  EXPECT_THAT(LabelOf(*lights, Head::kPolicy, {3, 1}), ElementsAre(0, 0.5F, 0, 0.5F));
  EXPECT_THAT(LabelOf(*lights, Head::kPolicy, {3, 1, 3}), ElementsAre(0, 1, 0, 0));
  EXPECT_THAT(LabelOf(*lights, Head::kPolicy, {3, 3}), Each(0.0F));
  EXPECT_THAT(LabelOf(*lights, Head::kVp, {3, 1}), ElementsAre(2, 0, 0.5F, 0, 0.5F));
}

}  // namespace
}  // namespace tandem
