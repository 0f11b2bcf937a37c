#include <gtest/gtest.h>

#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "data/examples.h"
#include "support/generator_config.h"
#include "support/generators.h"
#include "support/path_domain.h"
#include "support/ring_domain.h"
#include "support/small_puzzles.h"
#include "support/stand_in_evaluator.h"
#include "tandem/error.h"
#include "tandem/registry.h"

namespace tandem {
namespace {

std::vector<std::uint8_t> Bytes(const DataBuffer& rows) {
  const auto inputs = rows.column(kInputColumn).bytes();
  const auto targets = rows.column(kTargetColumn).bytes();
  std::vector<std::uint8_t> all(inputs.begin(), inputs.end());
  all.insert(all.end(), targets.begin(), targets.end());
  return all;
}

DataBuffer Filled(Generator& generator, FillRequest request) {
  DataBuffer rows(generator.schema(), static_cast<std::size_t>(request.rows));
  generator.Fill(request, rows, StopSignal());
  return rows;
}

// A perfect target network for the ring.
StandInEvaluator RingTruth() {
  return StandInEvaluator(
      [](std::span<const std::uint8_t> state) { return float(RingDomain::Distance(state)); });
}

TEST(WalkLength, EveryPrefixOfAWalkIsARow) {
  const RingDomain ring(100);
  WalkGenerator generator(ring,
                          GeneratorConfig({.max_scramble = 10, .workers = 2, .chunk_rows = 7}));
  const DataBuffer rows = Filled(generator, {.update = 3, .first_row = 0, .rows = 105});
  for (std::size_t i = 0; i < 105; ++i) {
    const auto length = static_cast<float>(i % 10 + 1);
    EXPECT_EQ(rows.floats(kTargetColumn)[i], length);
    EXPECT_EQ(RingDomain::Distance(rows.column(kInputColumn)[i]), length);
  }
}

// Ten actions and three rows: the parts have 3, 3 and 4 actions.
TEST(WalkLength, FewRowsOfAWalkComeFromItsPartsAndFromAllDepths) {
  const RingDomain ring(100);
  WalkGenerator generator(
      ring,
      GeneratorConfig({.max_scramble = 10, .rows_per_walk = 3, .workers = 2, .chunk_rows = 7}));
  const DataBuffer rows = Filled(generator, {.update = 3, .first_row = 0, .rows = 3000});
  std::map<float, int> times;
  for (std::size_t i = 0; i < 3000; ++i) {
    const float length = rows.floats(kTargetColumn)[i];
    EXPECT_EQ(RingDomain::Distance(rows.column(kInputColumn)[i]), length);
    constexpr float kBegin[] = {1, 4, 7}, kEnd[] = {3, 6, 10};
    EXPECT_GE(length, kBegin[i % 3]) << i;
    EXPECT_LE(length, kEnd[i % 3]) << i;
    ++times[length];
  }
  ASSERT_EQ(times.size(), 10U);
  for (const auto& [length, count] : times) {
    EXPECT_NEAR(count, length < 7 ? 333 : 250, 100) << length;
  }
}

TEST(WalkLength, FewRowsOfAWalkDoNotDependOnHowRowsAreSplit) {
  const auto cube = MakeDomain("cube3");
  const auto of_range = [&](std::int64_t chunk_rows, const FillRequest& request) {
    WalkGenerator generator(
        *cube,
        GeneratorConfig(
            {.max_scramble = 26, .rows_per_walk = 5, .workers = 2, .chunk_rows = chunk_rows}));
    const DataBuffer rows = Filled(generator, request);
    const auto inputs = rows.column(kInputColumn).bytes();
    return std::vector<std::uint8_t>(inputs.begin(), inputs.end());
  };
  const auto all = of_range(33, {.update = 5, .first_row = 0, .rows = 1000});
  EXPECT_EQ(all, of_range(100, {.update = 5, .first_row = 0, .rows = 1000}));
  const auto part = of_range(4096, {.update = 5, .first_row = 342, .rows = 200});
  EXPECT_TRUE(std::ranges::equal(part, std::span(all).subspan(342 * 54, 200 * 54)));
}

TEST(WalkLength, RowsDependOnlyOnSeedUpdateAndRow) {
  const auto cube = MakeDomain("cube3");
  WalkGenerator one(*cube, GeneratorConfig({.max_scramble = 26, .workers = 1, .chunk_rows = 100}));
  WalkGenerator four(*cube, GeneratorConfig({.max_scramble = 26, .workers = 4, .chunk_rows = 33}));
  Config other_seed = GeneratorConfig({.max_scramble = 26, .workers = 1, .chunk_rows = 100});
  other_seed.seed = 2;
  WalkGenerator other(*cube, other_seed);
  const auto all = Bytes(Filled(one, {.update = 5, .first_row = 0, .rows = 1000}));
  EXPECT_EQ(all, Bytes(Filled(four, {.update = 5, .first_row = 0, .rows = 1000})));
  EXPECT_NE(all, Bytes(Filled(other, {.update = 5, .first_row = 0, .rows = 1000})));
  EXPECT_NE(all, Bytes(Filled(one, {.update = 6, .first_row = 0, .rows = 1000})));

  const DataBuffer part = Filled(four, {.update = 5, .first_row = 345, .rows = 200});
  const auto inputs = part.column(kInputColumn).bytes();
  EXPECT_TRUE(std::ranges::equal(inputs, std::span(all).subspan(345 * 54, 200 * 54)));
}

// On a ring, a walk that never turns back ends at a distance equal to its length. So the labels of
// a Q net are exact: one action leads back and the other leads farther away.
TEST(WalkLength, QNetLabelIsTheWalkLengthAfterEachAction) {
  const RingDomain ring(100);
  WalkGenerator generator(ring, GeneratorConfig({.max_scramble = 10, .workers = 2}, Head::kQ));
  const DataBuffer rows = Filled(generator, {.update = 3, .first_row = 7, .rows = 105});
  for (std::size_t i = 0; i < 105; ++i) {
    for (Action action = 0; action < 2; ++action) {
      const auto state = rows.column(kInputColumn)[i];
      std::vector<std::uint8_t> child(state.begin(), state.end());
      ring.Apply(Rows(std::span(child)), {&action, 1});
      EXPECT_EQ(rows.floats(kTargetColumn)[2 * i + action], 1 + RingDomain::Distance(child));
    }
  }
}

// The steps of a walk on the cube, read from its consecutive rows.
TEST(WalkLength, QNetLabelsOnlyTheStepBackAndTheNextStepOfTheWalk) {
  const auto cube = MakeDomain("cube3");
  constexpr std::size_t kLength = 10;
  WalkGenerator generator(
      *cube, GeneratorConfig({.max_scramble = kLength, .workers = 2, .chunk_rows = 7}, Head::kQ));
  const DataBuffer rows = Filled(generator, {.update = 3, .rows = 200});
  ASSERT_TRUE(HasWeights(rows.schema()));
  for (std::size_t i = 0; i < 200; ++i) {
    const auto labels = rows.floats(kTargetColumn).subspan(12 * i, 12);
    const auto weights = rows.floats(kWeightColumn).subspan(12 * i, 12);
    const auto length = static_cast<float>(i % kLength + 1);
    EXPECT_EQ(std::ranges::count(weights, 1.0F), 2);
    EXPECT_EQ(std::ranges::count(weights, 0.0F), 10);
    for (Action action = 0; action < 12; ++action) {
      if (weights[action] == 0) continue;
      std::vector<std::uint8_t> child(54);
      std::ranges::copy(rows.column(kInputColumn)[i], child.begin());
      cube->Apply(Rows(std::span(child)), {&action, 1});
      if (labels[action] == length) {
        if (i % kLength == 0) {
          EXPECT_TRUE(IsGoal(*cube, child));
        } else {
          EXPECT_TRUE(std::ranges::equal(child, rows.column(kInputColumn)[i - 1]));
        }
      } else {
        EXPECT_EQ(labels[action], length + 2);
        if (i % kLength + 1 == kLength) continue;
        EXPECT_TRUE(std::ranges::equal(child, rows.column(kInputColumn)[i + 1]));
      }
    }
  }
}

// An action that does not apply leaves the state as it is.
TEST(WalkLength, QNetLabelsActionsThatDoNotApply) {
  const PathDomain path(3);
  WalkGenerator generator(path, GeneratorConfig({.max_scramble = 2}, Head::kQ));
  const DataBuffer rows = Filled(generator, {.rows = 2});
  EXPECT_EQ(rows.floats(kTargetColumn)[0], 1);  // cell 1: left leads to the goal, right on
  EXPECT_EQ(rows.floats(kTargetColumn)[1], 3);
  EXPECT_EQ(rows.floats(kTargetColumn)[2], 2);  // cell 2: only the step back applies
  EXPECT_EQ(rows.floats(kTargetColumn)[3], 3);
  for (const float weight : rows.floats(kWeightColumn)) EXPECT_EQ(weight, 1);
}

TEST(WalkLength, QNetThatTakesTheActionLearnsOfThoseThatDoNotApplyInAThirdOfTheRows) {
  const PathDomain path(3);
  WalkGenerator generator(path, GeneratorConfig({.max_scramble = 2}, Head::kQIn));
  const DataBuffer rows = Filled(generator, {.rows = 2000});
  int idle = 0;
  for (std::size_t i = 1; i < 2000; i += 2) {  // cell 2, where only the step back applies
    const Action action = ActionIn(path.spec(), rows, i);
    EXPECT_EQ(rows.floats(kTargetColumn)[i], action == 0 ? 2 : 3);
    idle += action == 1 ? 1 : 0;
  }
  EXPECT_NEAR(idle, 333, 60);
}

TEST(WalkLength, StatesOfAQNetAreThoseOfAVNet) {
  const auto cube = MakeDomain("cube3");
  WalkGenerator v(*cube, GeneratorConfig({.max_scramble = 9, .chunk_rows = 50}));
  WalkGenerator q(*cube, GeneratorConfig({.max_scramble = 9, .chunk_rows = 31}, Head::kQ));
  WalkGenerator again(*cube, GeneratorConfig({.max_scramble = 9}, Head::kQ));
  const FillRequest request{.update = 5, .first_row = 4, .rows = 300};
  const DataBuffer q_rows = Filled(q, request);
  EXPECT_TRUE(std::ranges::equal(Filled(v, request).column(kInputColumn).bytes(),
                                 q_rows.column(kInputColumn).bytes()));
  EXPECT_TRUE(std::ranges::equal(Filled(again, request).bytes(), q_rows.bytes()));
}

TEST(ValueIteration, QNetLabelIsTheBackupOfEachAction) {
  const RingDomain ring(30);
  StandInEvaluator truth = RingTruth();
  ValueIterationGenerator generator(
      ring, truth, GeneratorConfig({.max_scramble = 14, .workers = 2, .chunk_rows = 16}, Head::kQ));
  const DataBuffer rows = Filled(generator, {.update = 0, .first_row = 0, .rows = 200});
  for (std::size_t i = 0; i < 200; ++i) {
    for (Action action = 0; action < 2; ++action) {
      const auto state = rows.column(kInputColumn)[i];
      std::vector<std::uint8_t> child(state.begin(), state.end());
      ring.Apply(Rows(std::span(child)), {&action, 1});
      EXPECT_EQ(rows.floats(kTargetColumn)[2 * i + action], 1 + RingDomain::Distance(child));
    }
  }
}

TEST(ValueIteration, ExactEstimatesAreAFixedPoint) {
  const RingDomain ring(30);
  StandInEvaluator truth = RingTruth();
  ValueIterationGenerator generator(
      ring, truth, GeneratorConfig({.max_scramble = 14, .workers = 2, .chunk_rows = 16}));
  const DataBuffer rows = Filled(generator, {.update = 0, .first_row = 0, .rows = 500});
  std::set<float> seen;
  for (std::size_t i = 0; i < 500; ++i) {
    const float target = rows.floats(kTargetColumn)[i];
    EXPECT_EQ(target, RingDomain::Distance(rows.column(kInputColumn)[i]));
    seen.insert(target);
  }
  EXPECT_EQ(seen.size(), 15U);  // every length from 0 to 14 occurs
}

TEST(ValueIteration, WalkLengthCapsOverestimates) {
  const RingDomain ring(100);
  StandInEvaluator pessimist([](std::span<const std::uint8_t>) { return 50.0F; });
  for (const Head head : {Head::kV, Head::kQ}) {
    ValueIterationGenerator generator(
        ring, pessimist,
        GeneratorConfig(
            {.target = Target::kCappedValueIteration, .max_scramble = 20, .chunk_rows = 64}, head));
    const FillRequest request{.update = 0, .first_row = 0, .rows = 300};
    const DataBuffer rows = Filled(generator, request);
    for (std::size_t i = 0; i < 300; ++i) {
      const auto distance = static_cast<float>(RingDomain::Distance(rows.column(kInputColumn)[i]));
      if (head == Head::kV) {
        EXPECT_EQ(rows.floats(kTargetColumn)[i], distance);  // walks on the ring never turn back
      } else {
        EXPECT_LE(rows.floats(kTargetColumn)[2 * i], distance + 2);
        EXPECT_LE(rows.floats(kTargetColumn)[2 * i + 1], distance + 2);
      }
    }
  }
}

TEST(ValueIteration, GoalsAndNegativeEstimatesCountAsZero) {
  const RingDomain ring(30);
  StandInEvaluator pessimist([](std::span<const std::uint8_t>) { return 50.0F; });
  StandInEvaluator negative([](std::span<const std::uint8_t>) { return -50.0F; });
  const Config config = GeneratorConfig({.max_scramble = 5, .chunk_rows = 64});
  ValueIterationGenerator high(ring, pessimist, config);
  ValueIterationGenerator low(ring, negative, config);
  const FillRequest request{.update = 0, .first_row = 0, .rows = 300};
  const DataBuffer high_rows = Filled(high, request);
  const DataBuffer low_rows = Filled(low, request);
  for (std::size_t i = 0; i < 300; ++i) {
    const int distance = RingDomain::Distance(high_rows.column(kInputColumn)[i]);
    const float at_most = distance == 0 ? 0.0F : distance == 1 ? 1.0F : 51.0F;
    EXPECT_EQ(high_rows.floats(kTargetColumn)[i], at_most);
    EXPECT_EQ(low_rows.floats(kTargetColumn)[i], distance == 0 ? 0.0F : 1.0F);
  }
}

TEST(ValueIteration, UnchangedChildrenKeepTheFixedPoint) {
  const PathDomain path(6);
  StandInEvaluator truth([](std::span<const std::uint8_t> state) { return float(state[0]); });
  ValueIterationGenerator generator(
      path, truth, GeneratorConfig({.max_scramble = 9, .workers = 1, .chunk_rows = 16}));
  const DataBuffer rows = Filled(generator, {.update = 0, .first_row = 0, .rows = 100});
  for (std::size_t i = 0; i < 100; ++i) {
    EXPECT_EQ(rows.floats(kTargetColumn)[i], rows.column(kInputColumn)[i][0]);
  }
}

TEST(ValueIteration, RowsDoNotDependOnWorkers) {
  const auto cube = MakeDomain("cube3");
  StandInEvaluator sum([](std::span<const std::uint8_t> state) {
    float total = 0;
    for (std::size_t i = 0; i < state.size(); ++i) total += float(i) * state[i];
    return total;
  });
  const FillRequest request{.update = 2, .first_row = 50, .rows = 333};
  std::vector<std::vector<std::uint8_t>> made;
  for (const int workers : {1, 2, 4}) {
    ValueIterationGenerator generator(
        *cube, sum, GeneratorConfig({.max_scramble = 9, .workers = workers, .chunk_rows = 50}));
    made.push_back(Bytes(Filled(generator, request)));
  }
  EXPECT_EQ(made[0], made[1]);
  EXPECT_EQ(made[0], made[2]);
}

TEST(ValueIteration, NetworkFailureFailsTheFill) {
  const RingDomain ring(30);
  StandInEvaluator broken([](std::span<const std::uint8_t>) -> float { throw Error("no memory"); });
  ValueIterationGenerator generator(
      ring, broken, GeneratorConfig({.max_scramble = 5, .workers = 2, .chunk_rows = 10}));
  EXPECT_THROW(Filled(generator, {.update = 0, .first_row = 0, .rows = 100}), Error);
}

// A path whose methods throw while `broken` is set.
class FragilePath final : public Domain {
 public:
  FragilePath() : Domain(PathDomain(8).spec()) {}

  void WriteGoals(Rows states) const override { path_.WriteGoals(states); }
  void Apply(Rows states, std::span<const Action> actions) const override {
    ThrowIf("Apply");
    path_.Apply(states, actions);
  }
  void Expand(ConstRows states, Rows children) const override {
    ThrowIf("Expand");
    path_.Expand(states, children);
  }
  void Mask(ConstRows states, std::span<std::uint8_t> applies) const override {
    ThrowIf("Mask");
    path_.Mask(states, applies);
  }
  void IsGoal(ConstRows states, std::span<std::uint8_t> is_goal) const override {
    ThrowIf("IsGoal");
    path_.IsGoal(states, is_goal);
  }
  void Encode(ConstRows states, Rows inputs) const override {
    ThrowIf("Encode");
    path_.Encode(states, inputs);
  }
  void ParseState(std::string_view text, std::span<std::uint8_t> state) const override {
    path_.ParseState(text, state);
  }
  std::string FormatState(std::span<const std::uint8_t> state) const override {
    return path_.FormatState(state);
  }

  std::string broken;  // the method that throws

 private:
  void ThrowIf(std::string_view method) const {
    if (method == broken) throw std::out_of_range(broken + " failed");
  }

  const PathDomain path_{8};
};

// Makes a fill fail in each of `methods`, and checks that the next fill works as before.
void ExpectFillsSurviveExceptions(FragilePath& path, Generator& generator,
                                  const std::vector<std::string>& methods) {
  const FillRequest request{.update = 0, .first_row = 0, .rows = 100};
  const std::vector<std::uint8_t> expected = Bytes(Filled(generator, request));
  for (const std::string& method : methods) {
    path.broken = method;
    try {
      Filled(generator, request);
      ADD_FAILURE() << method << " threw nothing";
    } catch (const std::out_of_range& error) {
      EXPECT_EQ(error.what(), method + " failed");
    }
    path.broken = "";
    EXPECT_EQ(Bytes(Filled(generator, request)), expected) << "after " << method;
  }
}

TEST(Generators, DomainExceptionFailsOnlyTheCurrentFill) {
  FragilePath path;
  StandInEvaluator truth([](std::span<const std::uint8_t> state) { return float(state[0]); });
  WalkGenerator walks(path, GeneratorConfig({.max_scramble = 5, .workers = 2, .chunk_rows = 10}));
  ValueIterationGenerator values(
      path, truth, GeneratorConfig({.max_scramble = 5, .workers = 2, .chunk_rows = 10}));
  ExpectFillsSurviveExceptions(path, walks, {"Apply", "Mask", "Encode"});
  ExpectFillsSurviveExceptions(path, values, {"Apply", "Mask", "Expand", "IsGoal", "Encode"});
}

TEST(Generators, StopBetweenChunks) {
  const RingDomain ring(30);
  StandInEvaluator truth = RingTruth();
  WalkGenerator walks(ring, GeneratorConfig({.max_scramble = 5, .workers = 2, .chunk_rows = 10}));
  ValueIterationGenerator values(
      ring, truth, GeneratorConfig({.max_scramble = 5, .workers = 2, .chunk_rows = 10}));
  DataBuffer rows(ExampleSchema(ring.spec()), 100);
  StopSignal stop;
  stop.Request();
  const FillRequest request{.update = 0, .first_row = 0, .rows = 100};
  EXPECT_THROW(walks.Fill(request, rows, stop), Stopped);
  EXPECT_THROW(values.Fill(request, rows, stop), Stopped);
}

}  // namespace
}  // namespace tandem
