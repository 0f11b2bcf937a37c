// Runs the steps of a GPU's threads on a CPU, and compares them with the CPU's own method.
#include "domain/permute_tile.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "base/random.h"
#include "domain/permute.h"
#include "domain/random_permutations.h"
#include "support/run_tiles.h"

namespace tandem {
namespace {

// A puzzle of random moves, and rows of random bytes between margins that must not be written to.
// Rows begin `offset` bytes after the start of a word.
struct Case {
  static constexpr std::size_t kMargin = 64;
  static constexpr std::uint8_t kMark = 0xA5;

  Case(std::size_t positions, std::size_t num_actions, std::size_t rows, std::size_t offset)
      : positions(positions),
        num_actions(num_actions),
        rows(rows),
        begin(kMargin + offset),
        random(positions * 1000 + num_actions, Purpose::kShuffle),
        table(RandomPermutations(num_actions, positions, random)),
        memory(begin + rows * positions + kMargin, kMark) {
    for (std::size_t a = 0; a < num_actions; ++a) {
      const auto of_action = table.sources(static_cast<Action>(a));
      sources.insert(sources.end(), of_action.begin(), of_action.end());
    }
    for (std::uint8_t& byte : states().bytes()) byte = static_cast<std::uint8_t>(random.Next());
  }

  Rows states() { return {memory.data() + begin, rows, positions}; }

  std::size_t positions, num_actions, rows, begin;
  Random random;
  PermutationTable table;
  std::vector<std::uint8_t> memory, sources;
};

class PermuteTiles : public testing::TestWithParam<std::size_t> {};

TEST_P(PermuteTiles, ApplyInPlaceMatchesTheTable) {
  const std::size_t positions = GetParam();
  const std::size_t rows_per_tile = PermuteTile::kBytes / positions;
  for (const std::size_t rows : {std::size_t{0}, std::size_t{1}, std::size_t{7}, rows_per_tile - 1,
                                 rows_per_tile, rows_per_tile + 1, 2 * rows_per_tile + 3}) {
    for (const std::size_t offset : {0, 1, 2, 3}) {
      Case here(positions, 5, rows, offset);
      std::vector<Action> actions(rows);
      for (Action& action : actions) action = static_cast<Action>(here.random.Below(5));
      std::vector<std::uint8_t> expected = here.memory;
      here.table.Apply({expected.data() + here.begin, rows, positions}, actions);
      RunTiles({.sources = here.sources.data(),
                .positions = static_cast<std::uint32_t>(positions),
                .from = here.states().data(),
                .to = here.states().data(),
                .actions = actions.data(),
                .rows = rows,
                .fan = 1});
      ASSERT_EQ(here.memory, expected) << rows << " rows, offset " << offset;
    }
  }
}

TEST_P(PermuteTiles, ExpandMatchesTheTable) {
  const std::size_t positions = GetParam();
  for (const std::size_t num_actions : {1, 2, 12, 1000}) {
    for (const std::size_t rows : {0, 1, 7, 33}) {
      if (num_actions * rows * positions > 4'000'000) continue;
      for (const std::size_t offset : {0, 3}) {
        Case here(positions, num_actions, rows, offset);
        const std::size_t begin =
            Case::kMargin + (offset == 0 ? 0 : 2);  // another alignment than the states have
        std::vector<std::uint8_t> expected(begin + num_actions * rows * positions + Case::kMargin,
                                           Case::kMark);
        std::vector<std::uint8_t> children = expected;
        here.table.Expand(here.states(), {expected.data() + begin, num_actions * rows, positions});
        RunTiles({.sources = here.sources.data(),
                  .positions = static_cast<std::uint32_t>(positions),
                  .from = here.states().data(),
                  .to = children.data() + begin,
                  .actions = nullptr,
                  .rows = num_actions * rows,
                  .fan = static_cast<std::uint32_t>(num_actions)});
        ASSERT_EQ(children, expected) << num_actions << " actions, " << rows << " rows";
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(RowsOf, PermuteTiles,
                         testing::Values(1, 2, 3, 4, 5, 8, 20, 24, 31, 36, 54, 63, 64, 65, 96, 127,
                                         132, 255, 256));

TEST(FastDivider, DividesExactly) {
  for (const std::uint32_t by : {1U, 2U, 3U, 7U, 54U, 255U, 256U, 1000U, 40'000U, 65'535U}) {
    const FastDivider divide(by);
    for (std::uint32_t number = 0; number < 1U << 17; ++number) {
      ASSERT_EQ(divide(number), number / by) << number << " / " << by;
    }
  }
}

}  // namespace
}  // namespace tandem
