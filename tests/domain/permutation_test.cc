#include <gtest/gtest.h>

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

TEST(Permutation, WorksOutInversesAndTheInputLayout) {
  const RingDomain ring(8);
  EXPECT_EQ(ring.spec().inverse_actions, (std::vector<Action>{1, 0}));
  EXPECT_EQ(ring.spec().state_size, 8);
  EXPECT_EQ(ring.spec().input.positions, 8);
  EXPECT_EQ(ring.spec().input.depth, 2);
}

TEST(Permutation, NamesTheActionThatIsWrong) {
  const std::vector<std::uint8_t> goal = {0, 1, 2};
  EXPECT_EQ(ErrorFor(goal, {{0, 1}, {0, 1, 2}}),
            "action a: 2 positions, expected 3 as in the goal");
  EXPECT_EQ(ErrorFor(goal, {{0, 1, 2}, {0, 0, 2}}),
            "action b: position 1 takes from 0, which is taken already: no permutation");
  EXPECT_EQ(ErrorFor(goal, {{0, 1, 2}, {0, 3, 2}}),
            "action b: position 1 takes from 3, which is out of range: no permutation");
  EXPECT_EQ(ErrorFor(goal, {{0, 1, 2}, {1, 2, 0}}), "action b has no inverse among the actions");
  EXPECT_EQ(ErrorFor(goal, {{0, 1, 2}}), "domain 'wrong': 1 permutations for 2 actions");
  EXPECT_EQ(ErrorFor({}, {{}, {}}), "domain 'wrong': 0 positions, expected 1 to 256");
}

}  // namespace
}  // namespace tandem
