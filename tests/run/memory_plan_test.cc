#include "run/memory_plan.h"

#include <gtest/gtest.h>

#include "config/load.h"
#include "nn/resnet_fc.h"
#include "run/resolve.h"
#include "tandem/registry.h"

namespace tandem {
namespace {

MemoryPlan PlanFor(const std::string& yaml) {
  return PlanMemory(ResolveAutos(ParseConfig(yaml, "my.yaml"), *OpenDevice("cpu")));
}

TEST(MemoryPlan, CountsTheParametersThatTheNetworkHas) {
  for (const char* yaml :
       {"network: {norm: none}", "network: {norm: batch, stem_width: 300, head: q}",
        "network: {norm: layer, blocks: 0}"}) {
    const TrainConfig config = ParseConfig(yaml, "my.yaml");
    const ResNetFC net(NetworkFor(config.network, MakeDomain("cube3")->spec()), 1);
    EXPECT_EQ(PlanFor(yaml).parameters, net.NumParameters()) << yaml;
  }
}

TEST(MemoryPlan, CountsRowsOfStateAndTarget) {
  const MemoryPlan plan =
      PlanFor("train: {batch_size: 128, iterations_per_update: 2}\nprefetch: {depth: 3}");
  EXPECT_EQ(plan.buffers, 2 * 2 * 128 * (54 + 4));
  EXPECT_EQ(plan.batches, 5 * 128 * (54 + 4));
  EXPECT_GE(plan.network, 7 * 4 * plan.parameters);
}

TEST(MemoryPlan, CountsWhatAStepKeepsForTheBackwardPass) {
  const std::string net = "network: {stem_width: 100, width: 30, blocks: 2}\n";
  const std::int64_t units = 100 + 5 * 30;
  EXPECT_EQ(PlanFor(net + "train: {batch_size: 60}").activations, 60 * 4 * (54 * 6 + 3 * units));
  EXPECT_EQ(PlanFor(net + "train: {batch_size: 60, accumulation_steps: 3}").activations,
            20 * 4 * (54 * 6 + 3 * units));
}

TEST(MemoryPlan, CountsReplayAndTheSearchesOfTheGenerator) {
  const std::string rows = "train: {batch_size: 128, iterations_per_update: 2}\n";
  EXPECT_EQ(PlanFor(rows).replay, 0);
  EXPECT_EQ(PlanFor(rows).search, 0);
  EXPECT_EQ(PlanFor(rows + "replay: {updates: 3}").replay, (3 + 2) * 2 * 128 * (54 + 4));
  const MemoryPlan mapped = PlanFor(rows + "replay: {updates: 3, map_to: /tmp}");
  EXPECT_EQ(mapped.mapped, (3 + 1) * 2 * 128 * (54 + 4));
  EXPECT_EQ(mapped.allocated + mapped.mapped, PlanFor(rows + "replay: {updates: 3}").allocated);
  const std::string astar =
      rows + "generate: {search: astar, target: value_iteration, search_iterations: 16}";
  EXPECT_GE(PlanFor(astar).search, 2 * 128 * 12 * 54);  // every child's bytes
}

}  // namespace
}  // namespace tandem
