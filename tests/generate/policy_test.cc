#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "support/generator_config.h"
#include "support/generators.h"
#include "support/path_domain.h"
#include "support/ring_domain.h"
#include "support/roads_domain.h"
#include "tandem/error.h"
#include "tandem/permutation.h"
#include "tandem/registry.h"

namespace tandem {
namespace {

using testing::Each;
using testing::HasSubstr;
using testing::ThrowsMessage;

Config PolicyConfig(std::int64_t max_scramble, std::int64_t chunk_rows = 64) {
  return GeneratorConfig({.target = Target::kPolicy,
                          .max_scramble = max_scramble,
                          .workers = 2,
                          .chunk_rows = chunk_rows},
                         Head::kPolicy);
}

DataBuffer Filled(const Domain& domain, const Config& config, FillRequest request) {
  WalkGenerator generator(domain, config);
  DataBuffer rows(generator.schema(), static_cast<std::size_t>(request.rows));
  generator.Fill(request, rows, StopSignal());
  return rows;
}

std::vector<float> LabelOf(const DataBuffer& rows, std::size_t i) {
  const std::size_t width = rows.schema().columns[kTargetColumn].width;
  const std::span<const float> label = rows.floats(kTargetColumn).subspan(i * width, width);
  return {label.begin(), label.end()};
}

std::vector<std::uint8_t> InputOf(const DataBuffer& rows, std::size_t i) {
  const auto input = rows.column(kInputColumn)[i];
  return {input.begin(), input.end()};
}

// Checks that the label is one action, and that it leads to the state one step earlier in the walk.
void ExpectLabelsLeadBack(const Domain& domain, std::int64_t length) {
  const DataBuffer rows = Filled(domain, PolicyConfig(length), {.update = 1, .rows = 20 * length});
  std::vector<std::uint8_t> goal(static_cast<std::size_t>(domain.spec().state_size));
  domain.WriteGoals(Rows(std::span(goal)));
  for (std::size_t i = 0; i < rows.rows(); ++i) {
    const std::vector<float> label = LabelOf(rows, i);
    EXPECT_EQ(std::ranges::count(label, 1.0F), 1);
    EXPECT_EQ(std::reduce(label.begin(), label.end()), 1.0F);
    const auto action = static_cast<Action>(std::ranges::find(label, 1.0F) - label.begin());
    std::vector<std::uint8_t> before = InputOf(rows, i);
    domain.Apply(Rows(std::span(before)), {&action, 1});
    const bool is_first = i % static_cast<std::size_t>(length) == 0;
    EXPECT_EQ(before, is_first ? goal : InputOf(rows, i - 1));
  }
}

TEST(Policy, LabelIsTheLastStepUndone) {
  ExpectLabelsLeadBack(*MakeDomain("cube3"), 12);
  ExpectLabelsLeadBack(RingDomain(30), 7);
}

TEST(Policy, ActionsWithoutInversesAreLabelledWithTheForwardStep) {
  ExpectLabelsLeadBack(RoadsDomain({{0, 0}, {0, 3}, {1, 3}, {2, 3}}, {1, 2}), 9);
}

TEST(Policy, ValueAndPolicyAlsoLearnTheCostOfTheWalk) {
  Config config = PolicyConfig(7);
  config.generate.target = Target::kWalkLength;
  config.network.head = Head::kVp;
  const RingDomain ring(30, {2, 5});
  const DataBuffer policy = Filled(ring, PolicyConfig(7), {.update = 1, .rows = 70});
  const auto generator = MakeGenerator(ring, config, nullptr);
  DataBuffer both(generator->schema(), 70);
  generator->Fill({.update = 1, .rows = 70}, both, StopSignal());
  EXPECT_FALSE(HasWeights(both.schema()));
  for (std::size_t i = 0; i < 70; ++i) {
    EXPECT_EQ(InputOf(both, i), InputOf(policy, i));
    const std::vector<float> label = LabelOf(both, i);
    EXPECT_EQ(std::vector<float>(label.begin() + 1, label.end()), LabelOf(policy, i));
    // The walk goes one way round the ring, and each step back costs the same.
    const float step_back = label[1] == 1 ? 2 : 5;
    EXPECT_EQ(label[0], static_cast<float>(i % 7 + 1) * step_back);
  }
}

TEST(Policy, ExamplesHaveNoWeights) {
  const RingDomain ring(30);
  const DataBuffer rows = Filled(ring, PolicyConfig(5), {.rows = 5});
  EXPECT_FALSE(HasWeights(rows.schema()));
  EXPECT_EQ(rows.schema().columns[kTargetColumn].width, 2U);
}

TEST(Policy, WalkThatCannotLeaveTheGoalHasNoLabel) {
  const PathDomain point(1);
  const DataBuffer rows = Filled(point, PolicyConfig(3), {.rows = 6});
  EXPECT_THAT(rows.floats(kTargetColumn), Each(0.0F));
}

// Neighbours are swapped, and two pairs of them are equal at the goal.
class RepeatedLabels final : public PermutationDomain {
 public:
  RepeatedLabels()
      : PermutationDomain(
            {.name = "repeated", .summary = "for tests", .action_names = {"s0", "s1", "s2"}},
            {0, 0, 1, 1}, {{1, 0, 2, 3}, {0, 2, 1, 3}, {0, 1, 3, 2}}) {}
  void ParseState(std::string_view text, std::span<std::uint8_t> state) const override {
    std::ranges::copy(text, state.begin());
  }
  std::string FormatState(std::span<const std::uint8_t> state) const override {
    return {state.begin(), state.end()};
  }
};

TEST(Policy, StepThatExchangesEqualLabelsIsNoLabel) {
  const RepeatedLabels puzzle;
  constexpr std::size_t kLength = 5;
  const DataBuffer rows = Filled(puzzle, PolicyConfig(kLength), {.rows = 100 * kLength});
  std::size_t without_effect = 0;
  for (std::size_t i = 0; i < rows.rows(); ++i) {
    const std::vector<std::uint8_t> before =
        i % kLength == 0 ? std::vector<std::uint8_t>{0, 0, 1, 1} : InputOf(rows, i - 1);
    const std::vector<float> label = LabelOf(rows, i);
    if (before == InputOf(rows, i)) {
      EXPECT_THAT(label, Each(0.0F)) << i;
      ++without_effect;
      continue;
    }
    ASSERT_EQ(std::ranges::count(label, 1.0F), 1) << i;
    const auto action = static_cast<Action>(std::ranges::find(label, 1.0F) - label.begin());
    std::vector<std::uint8_t> state = InputOf(rows, i);
    puzzle.Apply(Rows(std::span(state)), {&action, 1});
    EXPECT_EQ(state, before) << i;
  }
  EXPECT_GT(without_effect, 20U);
  EXPECT_LT(without_effect, rows.rows() / 2);
}

TEST(Policy, LightsOutLabelIsUniformOverTheDistinctButtonsPressed) {
  const auto lights = MakeDomain("lights_out:3");
  const DataBuffer rows = Filled(*lights, PolicyConfig(9), {.update = 2, .rows = 90});
  for (std::size_t i = 0; i < rows.rows(); ++i) {
    const std::vector<float> label = LabelOf(rows, i);
    const std::size_t pressed = i % 9 + 1;
    EXPECT_EQ(std::ranges::count(label, 1 / static_cast<float>(pressed)),
              static_cast<std::ptrdiff_t>(pressed));
    std::vector<std::uint8_t> state = InputOf(rows, i);
    for (Action action = 0; action < 9; ++action) {
      if (label[action] > 0) lights->Apply(Rows(std::span(state)), {&action, 1});
    }
    EXPECT_TRUE(IsGoal(*lights, state));
  }
}

TEST(Policy, RejectsWalksLongerThanTheNumberOfDistinctButtons) {
  const auto lights = MakeDomain("lights_out:3");
  EXPECT_NO_THROW(WalkGenerator(*lights, PolicyConfig(9)));
  EXPECT_THAT([&] { WalkGenerator(*lights, PolicyConfig(10)); },
              ThrowsMessage<InputError>(HasSubstr("expected at most 9")));
}

TEST(Policy, RowsDoNotDependOnHowTheyAreSplit) {
  for (const char* name : {"cube2", "lights_out:4"}) {
    const auto domain = MakeDomain(name);
    const DataBuffer whole = Filled(*domain, PolicyConfig(11, 1000), {.update = 4, .rows = 300});
    const DataBuffer part =
        Filled(*domain, PolicyConfig(11, 7), {.update = 4, .first_row = 45, .rows = 100});
    for (std::size_t i = 0; i < 100; ++i) {
      EXPECT_EQ(InputOf(part, i), InputOf(whole, 45 + i)) << name;
      EXPECT_EQ(LabelOf(part, i), LabelOf(whole, 45 + i)) << name;
    }
  }
}

}  // namespace
}  // namespace tandem
