
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "generate/generator.h"
#include "search/search.h"
#include "support/generator_config.h"
#include "support/head_evaluator.h"
#include "support/ring_domain.h"
#include "support/roads_domain.h"
#include "support/stand_in_evaluator.h"
#include "tandem/error.h"
#include "tandem/permutation.h"
#include "tandem/registry.h"

namespace tandem {
namespace {

constexpr int kCells = 20;
constexpr std::int64_t kWalk = 15;  // longer than the way around the other half of the ring
constexpr std::int64_t kRows = 40 * kWalk;

// Knows the distances of the ring, or takes them for their negatives.
class OfRing final : public HeadEvaluator {
 public:
  explicit OfRing(Head head, const RingDomain& ring, float sign = 1)
      : HeadEvaluator(head), ring_(ring), sign_(sign) {}

  void Evaluate(ConstRows inputs, std::span<float> values) override {
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      values[i] = sign_ * float(RingDomain::Distance(inputs[i]));
    }
  }

  // Costs of actions, and minus the logarithms of the probabilities of a policy up to a constant.
  void EvaluateActions(ConstRows inputs, std::span<float> values) override {
    for (std::size_t i = 0; i < values.size(); ++i) {
      const auto action = static_cast<Action>(i % 2);
      std::vector<std::uint8_t> child(inputs[i / 2].begin(), inputs[i / 2].end());
      ring_.Apply(Rows(std::span(child)), {&action, 1});
      values[i] = 1 + sign_ * float(RingDomain::Distance(child));
    }
  }

 private:
  const RingDomain& ring_;
  const float sign_;
};

Config ConfigFor(Head head, GenerateSearch search = GenerateSearch::kGreedy,
                 std::int64_t chunk_rows = 64) {
  return GeneratorConfig({.target = Target::kOwnSolutions,
                          .search = search,
                          .search_iterations = 40,
                          .search_beam_width = 4,
                          .max_scramble = kWalk,
                          .workers = 2,
                          .chunk_rows = chunk_rows},
                         head);
}

struct Filled {
  DataBuffer rows;
  std::optional<double> solved;
};

Filled Fill(const Domain& domain, Evaluator* network, const Config& config,
            FillRequest request = {.update = 2, .rows = kRows}) {
  const auto generator = MakeGenerator(domain, config, network);
  EXPECT_EQ(generator->needs_network(), network != nullptr);
  DataBuffer rows(generator->schema(), static_cast<std::size_t>(request.rows));
  generator->Fill(request, rows, StopSignal());
  return {.rows = std::move(rows), .solved = generator->searches_solved()};
}

std::vector<float> LabelOf(const DataBuffer& rows, std::size_t i,
                           std::size_t column = kTargetColumn) {
  const std::size_t width = rows.schema().columns[column].width;
  const auto label = rows.floats(column).subspan(i * width, width);
  return {label.begin(), label.end()};
}

bool AreEqual(const DataBuffer& a, const DataBuffer& b) {
  for (std::size_t i = 0; i < a.schema().columns.size(); ++i) {
    if (!std::ranges::equal(a.column(i).bytes(), b.column(i).bytes())) return false;
  }
  return true;
}

const RingDomain& Ring() {
  static const RingDomain ring(kCells);
  return ring;
}

TEST(OwnSolutions, AreThoseOfTheWalksIfTheSearchFindsNone) {
  for (const auto& [head, target] :
       {std::pair(Head::kV, Target::kWalkLength), std::pair(Head::kPolicy, Target::kPolicy),
        std::pair(Head::kVp, Target::kWalkLength)}) {
    OfRing lost(head, Ring(), -1);
    Config walks = ConfigFor(head);
    walks.generate.target = target;
    walks.generate.search = GenerateSearch::kNone;
    Config config = ConfigFor(head);
    config.generate.search_iterations = 2;
    EXPECT_TRUE(AreEqual(Fill(Ring(), &lost, config).rows, Fill(Ring(), nullptr, walks).rows));
  }
}

TEST(OwnSolutions, LabelStatesWithShorterWaysThanTheWalks) {
  OfRing truth(Head::kV, Ring());
  for (const GenerateSearch search : {GenerateSearch::kGreedy, GenerateSearch::kBeam}) {
    const auto [rows, solved] = Fill(Ring(), &truth, ConfigFor(Head::kV, search));
    EXPECT_EQ(solved, 1.0);
    int around = 0;  // walks that went more than halfway around the ring before the search
    for (std::size_t i = 0; i < rows.rows(); ++i) {
      const float distance = float(RingDomain::Distance(rows.column(kInputColumn)[i]));
      const float label = LabelOf(rows, i)[0];
      const auto steps = static_cast<float>(i % kWalk + 1);
      EXPECT_EQ(label, steps);
      EXPECT_GE(label, distance);
      // A solution of the search is on the other side of the ring than the walk.
      if (i % kWalk == 0 || i % kWalk == kWalk - 1) continue;
      const auto here = rows.column(kInputColumn)[i];
      const auto next = rows.column(kInputColumn)[i + 1];
      const auto at = std::ranges::find(here, 1) - here.begin();
      const auto then = std::ranges::find(next, 1) - next.begin();
      around += std::abs(at - then) == 1 ? 0 : 1;
    }
    EXPECT_GT(around, 5);
  }
}

TEST(OwnSolutions, ActionsLeadToTheGoal) {
  for (const Head head : {Head::kPolicy, Head::kQ, Head::kVp}) {
    OfRing truth(head, Ring());
    const DataBuffer rows = Fill(Ring(), &truth, ConfigFor(head)).rows;
    for (std::size_t i = 0; i < rows.rows(); ++i) {
      std::vector<float> actions =
          LabelOf(rows, i, head == Head::kQ ? kWeightColumn : kTargetColumn);
      if (head == Head::kVp) actions.erase(actions.begin());
      ASSERT_EQ(std::ranges::count(actions, 1.0F), 1);
      ASSERT_EQ(std::ranges::count(actions, 0.0F), 1);
      const auto action = static_cast<Action>(std::ranges::find(actions, 1.0F) - actions.begin());
      const std::size_t left = i % kWalk + 1;
      if (head == Head::kQ) {
        EXPECT_EQ(LabelOf(rows, i)[action], static_cast<float>(left));
      }
      const auto input = rows.column(kInputColumn)[i];
      std::vector<std::uint8_t> state(input.begin(), input.end());
      for (std::size_t step = 0; step < left; ++step) {
        Ring().Apply(Rows(std::span(state)), {&action, 1});
      }
      EXPECT_EQ(RingDomain::Distance(state), 0);  // every way keeps its direction
    }
  }
}

TEST(OwnSolutions, ActionIsPartOfTheInputOfHeadQIn) {
  OfRing truth(Head::kQ, Ring());
  const DataBuffer q = Fill(Ring(), &truth, ConfigFor(Head::kQ)).rows;
  const DataBuffer q_in = Fill(Ring(), &truth, ConfigFor(Head::kQIn)).rows;
  for (std::size_t i = 0; i < q.rows(); ++i) {
    const std::vector<float> weights = LabelOf(q, i, kWeightColumn);
    const auto action = std::ranges::find(weights, 1.0F) - weights.begin();
    EXPECT_EQ(q_in.column(kInputColumn)[i].back(), action);
    EXPECT_EQ(LabelOf(q_in, i)[0], LabelOf(q, i)[static_cast<std::size_t>(action)]);
  }
}

// A policy that prefers no action.
class Indifferent final : public HeadEvaluator {
 public:
  Indifferent() : HeadEvaluator(Head::kPolicy) {}
  void Evaluate(ConstRows, std::span<float>) override { FAIL(); }
  void EvaluateActions(ConstRows, std::span<float> values) override {
    std::ranges::fill(values, 1.0F);
  }
};

// Three places with two equal pieces. An action turns them round, another one turns them back, and
// the third, which exchanges the first two, changes nothing if these are equal. It has no mask.
class Twins final : public PermutationDomain {
 public:
  Twins()
      : PermutationDomain(
            {.name = "twins", .summary = "for tests", .action_names = {"l", "r", "x"}}, {0, 0, 1},
            {{1, 2, 0}, {2, 0, 1}, {1, 0, 2}}) {}
  void ParseState(std::string_view, std::span<std::uint8_t>) const override {}
  std::string FormatState(std::span<const std::uint8_t>) const override { return "twins"; }
};

TEST(OwnSolutions, TakeNoStepsThatLeaveTheStateAsItIs) {
  const Twins twins;
  Indifferent indifferent;
  const DataBuffer rows = Fill(twins, &indifferent, ConfigFor(Head::kPolicy)).rows;
  for (std::size_t i = 0; i < rows.rows(); ++i) {
    const auto input = rows.column(kInputColumn)[i];
    if (i % kWalk == 0) {
      EXPECT_FALSE(IsGoal(twins, input));
    }
    const std::vector<float> label = LabelOf(rows, i);
    ASSERT_EQ(std::ranges::count(label, 1.0F), 1);
    const auto action = static_cast<Action>(std::ranges::find(label, 1.0F) - label.begin());
    std::vector<std::uint8_t> child(input.begin(), input.end());
    twins.Apply(Rows(std::span(child)), {&action, 1});
    EXPECT_FALSE(std::ranges::equal(child, input)) << i;
  }
}

TEST(OwnSolutions, OfActionsThatCommuteComeFromWalksOfDistinctActions) {
  const auto lights = MakeDomain("lights_out:3");
  Indifferent indifferent;
  Config config = ConfigFor(Head::kPolicy);
  config.generate.max_scramble = 9;
  config.generate.search_iterations = 1;
  const DataBuffer rows = Fill(*lights, &indifferent, config, {.rows = 90}).rows;
  // A row of a walk has one button more than the row before, and all are equally probable.
  for (std::size_t i = 0; i < 90; ++i) {
    const std::size_t taken = i % 9 + 1;
    const std::vector<float> label = LabelOf(rows, i);
    EXPECT_EQ(std::ranges::count(label, 1 / float(taken)), std::ptrdiff_t(taken));
    EXPECT_EQ(std::ranges::count(label, 0.0F), std::ptrdiff_t(9 - taken));
    const std::vector<float> before = taken > 1 ? LabelOf(rows, i - 1) : label;
    for (std::size_t button = 0; button < 9; ++button) {
      EXPECT_TRUE(before[button] == 0 || label[button] > 0);
    }
  }
  config.generate.max_scramble = 10;
  EXPECT_THROW(MakeGenerator(*lights, config, &indifferent), InputError);
}

TEST(OwnSolutions, ErrorOfABeamThatIsTooWideNamesItsKey) {
  const auto cube = MakeDomain("cube3_htm");
  StandInEvaluator ignorant([](std::span<const std::uint8_t>) { return 0.0F; });
  Config config = ConfigFor(Head::kV, GenerateSearch::kBeam);
  config.generate.search_beam_width = std::int64_t{1} << 28;
  EXPECT_THAT([&] { MakeGenerator(*cube, config, &ignorant); },
              testing::ThrowsMessage<InputError>(
                  testing::StartsWith("generate.search_beam_width: 268435456, expected at most "
                                      "238609294 with 18 actions")));
}

TEST(OwnSolutions, DoNotDependOnHowRowsAreSplit) {
  OfRing truth(Head::kQ, Ring());
  const Config config = ConfigFor(Head::kQ);
  const DataBuffer whole = Fill(Ring(), &truth, config, {.update = 4, .rows = 300}).rows;
  const DataBuffer part = Fill(Ring(), &truth, ConfigFor(Head::kQ, GenerateSearch::kGreedy, 1000),
                               {.update = 4, .first_row = 47, .rows = 100})
                              .rows;
  for (std::size_t i = 0; i < 100; ++i) {
    EXPECT_TRUE(
        std::ranges::equal(part.column(kInputColumn)[i], whole.column(kInputColumn)[47 + i]));
    EXPECT_EQ(LabelOf(part, i), LabelOf(whole, 47 + i));
    EXPECT_EQ(LabelOf(part, i, kWeightColumn), LabelOf(whole, 47 + i, kWeightColumn));
  }
}

TEST(OwnSolutions, SearchesStartWithinTheLongestScrambleOfTheCurriculum) {
  OfRing lost(Head::kV, Ring(), -1);
  Config config = ConfigFor(Head::kV);
  config.generate.search_iterations = 1;  // solves what is one step away
  const auto solved = [&](std::optional<std::int64_t> longest) {
    return Fill(Ring(), &lost, config, {.update = 1, .rows = kRows, .longest_scramble = longest})
        .solved;
  };
  EXPECT_EQ(solved(1), 1.0);
  EXPECT_EQ(solved(2), 0.5);  // the mean over the lengths
  EXPECT_LT(*solved(std::nullopt), 0.2);
}

TEST(OwnSolutions, OfActionsWithoutInversesAreWalksForward) {
  // City 3 is two cheap steps or one dear one from the goal. No road leads to city 4.
  const RoadsDomain map({{0, 0}, {0, 1}, {1, 2}, {2, 0}, {3, 4}}, {1, 9});
  class Steps final : public Evaluator {
   public:
    void Evaluate(ConstRows inputs, std::span<float> values) override {
      for (std::size_t i = 0; i < inputs.size(); ++i) values[i] = inputs[i][0];
    }
  } steps;
  Config config = ConfigFor(Head::kV);
  config.generate.max_scramble = 4;
  const auto [rows, solved] = Fill(map, &steps, config, {.rows = 400});
  int through_goal = 0;
  for (std::size_t i = 0; i < rows.rows(); ++i) {
    const int city = rows.column(kInputColumn)[i][0];
    const float label = LabelOf(rows, i)[0];
    EXPECT_TRUE(label == float(city) || (city >= 3 && label == 9 + float(city - 3)))
        << city << " " << label;
    through_goal += label > 4 ? 1 : 0;
  }
  EXPECT_GT(through_goal, 0);  // labels of walks whose search started elsewhere
}

TEST(OwnSolutions, OfAGoalThatNoActionLeavesIsTheGoal) {
  const RoadsDomain island({{0, 0}}, {3, 5});
  class Nothing final : public HeadEvaluator {
   public:
    using HeadEvaluator::HeadEvaluator;
    void Evaluate(ConstRows, std::span<float> values) override { std::ranges::fill(values, 0.0F); }
    void EvaluateActions(ConstRows, std::span<float> values) override {
      std::ranges::fill(values, 0.0F);
    }
  };
  for (const Head head : {Head::kV, Head::kQ, Head::kPolicy, Head::kVp, Head::kQIn}) {
    Nothing nothing(head);
    const DataBuffer rows = Fill(island, &nothing, ConfigFor(head), {.rows = 30}).rows;
    for (std::size_t i = 0; i < rows.rows(); ++i) {
      EXPECT_EQ(rows.column(kInputColumn)[i][0], 0);
      // Every action of q_in leads back to the goal.
      EXPECT_EQ(LabelOf(rows, i)[0], head == Head::kQIn ? 3 : 0);
      if (head == Head::kQ) {
        EXPECT_EQ(LabelOf(rows, i, kWeightColumn), (std::vector<float>{0, 0}));
      }
    }
  }
}

// Every third step of a walk on this ring leads to the goal, the last one too.
TEST(OwnSolutions, OfWalksThatMeetAGoalBeginThereAgain) {
  const RingDomain ring(3);
  OfRing lost(Head::kV, ring, -1);
  OfRing lost_policy(Head::kPolicy, ring, -1);
  const DataBuffer values = Fill(ring, &lost, ConfigFor(Head::kV)).rows;
  const DataBuffer policy = Fill(ring, &lost_policy, ConfigFor(Head::kPolicy)).rows;
  for (std::size_t i = 0; i < values.rows(); ++i) {
    EXPECT_EQ(RingDomain::Distance(values.column(kInputColumn)[i]), 1);
    EXPECT_EQ(RingDomain::Distance(policy.column(kInputColumn)[i]), 1);
    EXPECT_LE(LabelOf(values, i)[0], 2);
    EXPECT_GE(LabelOf(values, i)[0], 1);
    const std::vector<float> actions = LabelOf(policy, i);
    EXPECT_EQ(std::ranges::count(actions, 1.0F), 1);
  }
}

}  // namespace
}  // namespace tandem
