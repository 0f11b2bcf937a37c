// Tests that origins give the bytes and the network's input of states.
#include "domain/origin_encoding.h"

#include <gtest/gtest.h>

#include "base/random.h"
#include "domain/random_walk.h"
#include "support/small_puzzles.h"
#include "tandem/error.h"
#include "tandem/registry.h"

namespace tandem {
namespace {

State EncodedBy(const Domain& domain, const State& state) {
  State input(static_cast<std::size_t>(domain.spec().input.positions));
  domain.Encode(ConstRows(std::span<const std::uint8_t>(state)), Rows(std::span(input)));
  return input;
}

State EncodedBy(const OriginEncoding& encoding, const State& origins) {
  State input;
  for (const auto& table : encoding.inputs())
    input.push_back(table.values[origins[table.position]]);
  return input;
}

State BytesOf(const OriginEncoding& encoding, const State& origins) {
  State bytes;
  for (const std::uint8_t origin : origins) bytes.push_back(encoding.bytes()[origin]);
  return bytes;
}

class OriginEncodingTest : public testing::TestWithParam<const char*> {};

TEST_P(OriginEncodingTest, OriginsOfAScrambleGiveBytesAndInputsOfAllStatesAfterIt) {
  const auto domain = MakeDomain(GetParam());
  const OriginEncoding encoding(dynamic_cast<const PermutationDomain&>(*domain));
  State state(static_cast<std::size_t>(domain->spec().state_size));
  for (std::uint64_t number = 0; number < 5; ++number) {
    WalkFromGoal(*domain, Random(1, Purpose::kScramble, 0, number), 30, state);
    State origins = encoding.OriginsOf(state).value();
    Random random(1, Purpose::kRollout, 0, number);
    for (int step = 0; step < 50; ++step) {
      ASSERT_EQ(BytesOf(encoding, origins), state);
      ASSERT_EQ(EncodedBy(encoding, origins), EncodedBy(*domain, state));
      const std::vector<Action> action = {static_cast<Action>(
          random.Below(static_cast<std::uint64_t>(domain->spec().num_actions())))};
      state = After(*domain, state, action);
      origins = After(*domain, origins, action);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Puzzles, OriginEncodingTest,
                         testing::Values("cube3", "cube3:pieces", "cube3_htm:pieces", "cube2",
                                         "cube2:pieces"),
                         [](const auto& test) {
                           std::string name = test.param;
                           std::erase_if(name, [](char c) { return std::isalnum(c) == 0; });
                           return name;
                         });

TEST(OriginEncoding, FindsNoOriginsOfAStateThatNoMovesReach) {
  const auto cube = MakeDomain("cube3");
  const OriginEncoding encoding(dynamic_cast<const PermutationDomain&>(*cube));
  State state(54);
  cube->WriteGoals(Rows(std::span(state)));
  std::swap(state[4], state[13]);  // two centres, which no move changes
  EXPECT_FALSE(encoding.OriginsOf(state).has_value());
}

// Its first input depends on two positions.
class MixedInput final : public RowPuzzle {
 public:
  MixedInput() : RowPuzzle("mixed", 3, 1, {{1, 0, 2}, {0, 2, 1}}) {}

  void Encode(ConstRows states, Rows inputs) const override {
    for (std::size_t i = 0; i < states.size(); ++i) {
      std::ranges::copy(states[i], inputs[i].begin());
      inputs[i][0] = states[i][0] < states[i][1] ? 1 : 0;
    }
  }
};

TEST(OriginEncoding, RefusesAnInputThatDependsOnTwoPositions) {
  const MixedInput puzzle;
  try {
    const OriginEncoding encoding(puzzle);
    FAIL();
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("position 0 of the network's input"),
              std::string::npos);
  }
}

}  // namespace
}  // namespace tandem
