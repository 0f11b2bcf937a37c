// Tests that ranks receive the plan of rank 0 as it was sent.
#include <gtest/gtest.h>

#include "config/load.h"
#include "train/prepare_run.h"

namespace tandem {
namespace {

TEST(RankPlan, PlanWithAPathThatIsNotUtf8ArrivesUnchanged) {
  const RankPlan sent = {.config = ParseConfig("seed: 7\n", "test"),
                         .checkpoint = "/runs/caf\xe9/checkpoint.safetensors",
                         .complete = true};
  const RankPlan received = DecodePlan(EncodePlan(sent));
  EXPECT_EQ(ToYaml(received.config), ToYaml(sent.config));
  EXPECT_EQ(received.checkpoint, sent.checkpoint);
  EXPECT_TRUE(received.complete);
}

}  // namespace
}  // namespace tandem
