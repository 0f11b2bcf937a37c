// Tests that origins give the bytes and the network's input of states.
#include "domain/origin_encoding.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/random.h"
#include "domain/random_walks.h"
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
  for (const auto& table : encoding.inputs()) {
    std::size_t index = origins[table.position];
    if (table.second) index = index * origins.size() + origins[*table.second];
    input.push_back(table.values[index]);
  }
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
                         testing::Values("cube3", "cube3:pieces", "cube3:pairs", "cube3_htm:pieces",
                                         "cube2", "cube2:pieces", "cube2:pairs",
                                         "permutation:megaminx:pieces"),
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

// Its first input depends on three positions.
class MixedInput final : public RowPuzzle {
 public:
  MixedInput() : RowPuzzle("mixed", 4, 1, {{1, 0, 2, 3}, {0, 2, 1, 3}, {0, 1, 3, 2}}) {}

  void Encode(ConstRows states, Rows inputs) const override {
    for (std::size_t i = 0; i < states.size(); ++i) {
      std::ranges::copy(states[i], inputs[i].begin());
      inputs[i][0] = states[i][0] < states[i][1] && states[i][1] < states[i][2] ? 1 : 0;
    }
  }
};

class LongRow final : public RowPuzzle {
 public:
  LongRow() : RowPuzzle("long_row", 257, 1, {InOrder<Permutation>(257)}) {}
};

TEST(OriginEncoding, RefusesAStateThatBytesCannotNumber) {
  const LongRow row;
  EXPECT_THAT([&] { const OriginEncoding encoding(row); },
              testing::ThrowsMessage<InputError>(testing::StartsWith(
                  "long_row: a state has 257 bytes, and tensor programs take at most 256. Set")));
}

// Three pieces of two positions each. Their first positions look alike, and the input depends on
// two pieces together.
class LookAlikes final : public PermutationDomain {
 public:
  LookAlikes()
      : PermutationDomain(
            {.name = "alike", .summary = "for tests", .action_names = {"left", "right"}},
            State{0, 1, 0, 2, 0, 3}, {{2, 3, 0, 1, 4, 5}, {0, 1, 4, 5, 2, 3}}) {}

  void Encode(ConstRows states, Rows inputs) const override {
    for (std::size_t i = 0; i < states.size(); ++i) {
      std::ranges::fill(inputs[i], states[i][1] > states[i][3] ? 1 : 0);
    }
  }
  void ParseState(std::string_view /*text*/, std::span<std::uint8_t> /*state*/) const override {}
  std::string FormatState(std::span<const std::uint8_t> /*state*/) const override { return ""; }
};

TEST(OriginEncoding, RefusesAnInputThatTellsLookAlikesApart) {
  const LookAlikes puzzle;
  const OriginEncoding encoding(puzzle);
  EXPECT_THAT(
      [&] {
        (void)encoding.OriginsOf(State{0, 1, 0, 2, 0, 3});
      },
      testing::ThrowsMessage<InputError>(testing::HasSubstr("pieces apart that look alike")));
}

TEST(OriginEncoding, RefusesAnInputThatDependsOnThreePositions) {
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
