#include <gtest/gtest.h>

#include <cmath>

#include "generate/bellman.h"
#include "generate/value_iteration.h"
#include "support/path_domain.h"
#include "support/stand_in_evaluator.h"
#include "tandem/error.h"
#include "tandem/registry.h"

namespace tandem {
namespace {

constexpr std::int64_t kRows = 300;

StandInEvaluator Guess() {
  return StandInEvaluator([](std::span<const std::uint8_t> state) {
    float total = 0;
    for (std::size_t i = 0; i < state.size(); ++i) total += float(i % 5) * state[i];
    return total / 8;
  });
}

class StoredStates : public testing::Test {
 protected:
  DataBuffer Generated(bool labelled, Head head, bool capped) {
    StandInEvaluator guess = Guess();
    ValueIterationGenerator generator(
        *cube_, guess,
        {.head = head,
         .capped = capped,
         .seed = 1,
         .max_scramble = 9,
         .search = {.method = GenerateSearch::kGreedy, .epsilon = 0.1},
         .search_iterations = 12,
         .labelled = labelled});
    DataBuffer rows(labelled ? ExampleSchema(cube_->spec(), head) : StateSchema(cube_->spec()),
                    kRows);
    generator.Fill({.update = 0, .first_row = 0, .rows = kRows}, rows, StopSignal());
    return rows;
  }

  const std::unique_ptr<const Domain> cube_ = MakeDomain("cube2");
};

TEST_F(StoredStates, GetTheSameLabelsAsInTheGenerator) {
  for (const Head head : {Head::kV, Head::kQ}) {
    for (const bool capped : {false, true}) {
      const DataBuffer expected = Generated(/*labelled=*/true, head, capped);
      StandInEvaluator guess = Guess();
      BellmanLabeller labeller(*cube_, guess,
                               {.head = head, .capped = capped, .chunk_rows = 64, .workers = 2});
      DataBuffer examples(expected.schema(), kRows);
      int between = 0;
      labeller.Label(Generated(/*labelled=*/false, head, capped), examples, StopSignal(),
                     [&] { ++between; });
      for (const std::size_t column : {kInputColumn, kTargetColumn}) {
        EXPECT_TRUE(
            std::ranges::equal(examples.column(column).bytes(), expected.column(column).bytes()));
      }
      EXPECT_EQ(between, 5);  // once per chunk
    }
  }
}

TEST_F(StoredStates, NanEstimateNamesTheChild) {
  // Without the check, min would hide the NaN behind the cap and the other children.
  const std::unique_ptr<const Domain> path = std::make_unique<PathDomain>(9);
  StandInEvaluator broken(
      [](std::span<const std::uint8_t> state) { return state[0] == 3 ? std::nanf("") : 1.0F; });
  ValueIterationGenerator generator(*path, broken, {.capped = true, .seed = 1, .max_scramble = 6});
  DataBuffer rows(ExampleSchema(path->spec()), kRows);
  try {
    generator.Fill({.update = 0, .first_row = 0, .rows = kRows}, rows, StopSignal());
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("state 3 is not a number"), std::string::npos)
        << error.what();
  }
}

TEST_F(StoredStates, StopOrFailureBetweenChunksEndsLabelling) {
  const DataBuffer states = Generated(/*labelled=*/false, Head::kV, /*capped=*/false);
  StandInEvaluator guess = Guess();
  BellmanLabeller labeller(*cube_, guess, {.chunk_rows = 64, .workers = 2});
  DataBuffer examples(ExampleSchema(cube_->spec()), kRows);
  StopSignal stop;
  EXPECT_THROW(labeller.Label(states, examples, stop, [&] { stop.Request(); }), Stopped);
  EXPECT_THROW(labeller.Label(states, examples, StopSignal(), [] { throw Error("no"); }), Error);
}

}  // namespace
}  // namespace tandem
