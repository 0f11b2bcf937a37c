#include <gtest/gtest.h>

#include "base/random.h"
#include "domain/permute.h"
#include "domain/random_permutations.h"
#include "support/ring_domain.h"
#include "tandem/error.h"

namespace tandem {
namespace {

class Wrong final : public PermutationDomain {
 public:
  Wrong(std::vector<std::uint8_t> goal, std::vector<Permutation> permutations)
      : PermutationDomain({.name = "wrong", .action_names = {"a", "b"}}, std::move(goal),
                          std::move(permutations)) {}
  void ParseState(std::string_view, std::span<std::uint8_t>) const override {}
  std::string FormatState(std::span<const std::uint8_t>) const override { return ""; }
};

std::string ErrorFor(std::vector<std::uint8_t> goal, std::vector<Permutation> permutations) {
  try {
    const Wrong domain(std::move(goal), std::move(permutations));
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(Permutation, ComposesAndInverts) {
  const Permutation a = {1, 2, 0, 3}, b = {0, 1, 3, 2};
  const Permutation identity = {0, 1, 2, 3};
  EXPECT_EQ(Compose(a, Inverse(a)), identity);
  EXPECT_EQ(Compose(a, b), (Permutation{1, 2, 3, 0}));
  EXPECT_EQ(Inverse(Compose(a, b)), Compose(Inverse(b), Inverse(a)));
}

TEST(Permutation, DerivesInversesAndTheInputLayout) {
  const RingDomain ring(8);
  EXPECT_EQ(ring.spec().inverse_actions, (std::vector<Action>{1, 0}));
  EXPECT_EQ(ring.spec().state_size, 8);
  EXPECT_EQ(ring.spec().input.positions, 8);
  EXPECT_EQ(ring.spec().input.depth, 2);
}

// Compares every method of permuting rows, for every length, with the definition.
TEST(PermutationTable, EveryMethodGivesTheSameRows) {
  for (const std::size_t positions :
       {1, 15, 24, 31, 32, 33, 54, 63, 64, 65, 96, 127, 128, 129, 192, 255, 256, 257, 600}) {
    Random random(positions, Purpose::kShuffle);
    const std::vector<Permutation> permutations = RandomPermutations(5, positions, random);
    constexpr std::size_t kRows = 7;
    std::vector<std::uint8_t> before(kRows * positions);
    for (std::uint8_t& byte : before) byte = static_cast<std::uint8_t>(random.Next());
    const ConstRows states(before.data(), kRows, positions);
    for (const PermuteWith with : PermutationTable::Available(positions)) {
      const PermutationTable table(permutations, with);
      std::vector<std::uint8_t> children(kRows * 5 * positions);
      table.Expand(states, {children.data(), kRows * 5, positions});
      const std::vector<Action> actions = {0, 1, 2, 3, 4, 0, 1};
      std::vector<std::uint8_t> after = before;
      table.Apply({after.data(), kRows, positions}, actions);
      for (std::size_t i = 0; i < kRows; ++i) {
        for (std::size_t p = 0; p < positions; ++p) {
          for (std::size_t a = 0; a < 5; ++a) {
            ASSERT_EQ(children[(i * 5 + a) * positions + p], states[i][permutations[a][p]]);
          }
          ASSERT_EQ(after[i * positions + p], states[i][permutations[actions[i]][p]]);
        }
      }
    }
  }
}

TEST(Permutation, ErrorNamesTheWrongAction) {
  const std::vector<std::uint8_t> goal = {0, 1, 2};
  EXPECT_EQ(ErrorFor(goal, {{0, 1}, {0, 1, 2}}),
            "action a: 2 positions, expected 3, as in the goal");
  EXPECT_EQ(ErrorFor(goal, {{0, 1, 2}, {0, 0, 2}}),
            "action b: not a permutation: position 1 takes from 0, which is already taken");
  EXPECT_EQ(ErrorFor(goal, {{0, 1, 2}, {0, 3, 2}}),
            "action b: not a permutation: position 1 takes from 3, which is out of range");
  EXPECT_EQ(ErrorFor(goal, {{0, 1, 2}, {1, 2, 0}}), "action b has no inverse among the actions");
  EXPECT_EQ(ErrorFor(goal, {{0, 1, 2}}), "domain 'wrong': 1 permutations for 2 actions");
  EXPECT_EQ(ErrorFor({}, {{}, {}}), "domain 'wrong': 0 positions, expected 1 to 65536");
}

}  // namespace
}  // namespace tandem
