#include "data/examples.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "support/ring_domain.h"
#include "tandem/error.h"

namespace tandem {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::ThrowsMessage;

TEST(CheckTargets, ErrorNamesTheFirstExampleOutsideTheBounds) {
  const RingDomain ring(6);
  for (const float wrong :
       {-0.5F, std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    DataBuffer rows(ExampleSchema(ring.spec(), Head::kQ), 4);
    const std::size_t width = TargetWidth(ring.spec(), Head::kQ);
    ASSERT_GT(width, 1U);
    std::ranges::fill(rows.column(kInputColumn).bytes(), std::uint8_t{0});
    std::ranges::fill(rows.floats(kTargetColumn), 0.0F);
    rows.column(kInputColumn)[2][0] = 1;
    CheckTargets(rows, "the rows of update 3");  // 0 is the target of a goal
    rows.floats(kTargetColumn)[2 * width + 1] = wrong;
    rows.floats(kTargetColumn)[3 * width] = wrong;
    EXPECT_THAT([&] { CheckTargets(rows, "the rows of update 3"); },
                ThrowsMessage<Error>(AllOf(HasSubstr("the rows of update 3: target 1 of row 2 is "),
                                           HasSubstr("in this row is 1 0 "))));
  }
}

TEST(CheckExamples, ErrorNamesTheFirstWeightOutsideTheBounds) {
  const RingDomain ring(6);
  const int depth = ring.spec().input.depth;
  for (const float wrong :
       {-0.5F, std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    DataBuffer rows(ExampleSchema(ring.spec(), Head::kQ, /*weighted=*/true), 4);
    const std::size_t width = TargetWidth(ring.spec(), Head::kQ);
    EXPECT_NO_THROW(CheckExamples(rows, depth, "shard"));  // a weight of 0 masks an output
    rows.floats(kWeightColumn)[2 * width + 1] = wrong;
    EXPECT_THAT([&] { CheckExamples(rows, depth, "shard"); },
                ThrowsMessage<Error>(AllOf(HasSubstr(fmt::format("weight 1 of row 2 is {}", wrong)),
                                           HasSubstr("expected a finite number of at least 0"))));
  }
}

TEST(CheckExamples, ChecksInputsAndTargetsOfRowsWithoutWeights) {
  const RingDomain ring(6);
  const int depth = ring.spec().input.depth;
  DataBuffer rows(ExampleSchema(ring.spec(), Head::kQ), 4);
  EXPECT_NO_THROW(CheckExamples(rows, depth, "shard"));
  rows.floats(kTargetColumn)[0] = -1;
  EXPECT_THAT([&] { CheckExamples(rows, depth, "shard"); },
              ThrowsMessage<Error>(HasSubstr("shard: target 0 of row 0 is -1")));
  rows.column(kInputColumn)[1][0] = static_cast<std::uint8_t>(depth);
  EXPECT_THAT([&] { CheckExamples(rows, depth, "shard"); },
              ThrowsMessage<Error>(HasSubstr("shard: row 1 of the network's input has a byte")));
}

TEST(CheckInputs, ErrorNamesTheFirstRowWithAByteThatIsNoFeature) {
  const std::vector<std::uint8_t> bytes = {0, 2, 1, 2, 3, 4};
  const ConstRows rows(bytes.data(), 3, 2);
  EXPECT_NO_THROW(CheckInputs(rows, 5, "chunk 1"));
  EXPECT_THAT(
      [&] { CheckInputs(rows, 3, "chunk 1"); },
      ThrowsMessage<Error>(HasSubstr("chunk 1: row 2 of the network's input has a byte 3")));
  EXPECT_NO_THROW(CheckInputs(ConstRows(bytes.data(), 0, 2), 1, "chunk 1"));
}

TEST(CheckTargets, StatesWithoutLabelsHaveNoTargets) {
  const RingDomain ring(6);
  EXPECT_TRUE(HasTargets(ExampleSchema(ring.spec())));
  EXPECT_FALSE(HasTargets(StateSchema(ring.spec())));
}

}  // namespace
}  // namespace tandem
