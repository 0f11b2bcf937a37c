#include "train/memory_plan.h"

#include <gtest/gtest.h>

#include "config/load.h"
#include "nn/device.h"
#include "nn/resnet_fc.h"
#include "tandem/registry.h"
#include "train/resolve.h"

namespace tandem {
namespace {

MemoryPlan PlanFor(const std::string& yaml) {
  return PlanMemory(ResolveAutos(ParseConfig(yaml, "my.yaml"), *OpenDevice("cpu")));
}

TEST(MemoryPlan, CountsTheParametersOfTheNetwork) {
  for (const char* yaml :
       {"network: {norm: none}", "network: {norm: batch, stem_width: 300, head: q}",
        "network: {norm: layer, blocks: 0}", "network: {norm: rms}"}) {
    const Config config = ParseConfig(yaml, "my.yaml");
    const ResNetFC net(NetworkFor(config.network, MakeDomain("cube3")->spec()), 1);
    EXPECT_EQ(PlanFor(yaml).parameters, net.NumParameters()) << yaml;
  }
}

TEST(MemoryPlan, CountsTheParametersOfAConvolutionalNetwork) {
  const std::string yaml =
      "domain: {name: npuzzle, size: 3}\nnetwork: {kind: resnet_2d, norm: batch, channels: 7}";
  const Config config = ParseConfig(yaml, "my.yaml");
  const auto domain = MakeDomain(config.domain.full_name());
  const auto net = MakeNetwork(NetworkFor(config.network, domain->spec()), 1);
  EXPECT_EQ(PlanFor(yaml).parameters, net->NumParameters());
  // Its inference copies are in fp32, whatever the precision of the convolutions.
  EXPECT_EQ(PlanFor(yaml + "\ninference: {precision: bf16}").network,
            PlanFor(yaml + "\ninference: {precision: fp32}").network);
}

TEST(MemoryPlan, CountsNoHostMemoryForRowsThatAGpuGenerates) {
  const auto plan_for = [](Program program) {
    Config config = ResolveAutos(ParseConfig("generate: {target: value_iteration}", "my.yaml"),
                                 *OpenDevice("cpu"));
    config.device = "cuda:0";
    config.generate.program = program;
    return PlanMemory(config);
  };
  const MemoryPlan on_cpu = plan_for(Program::kDomain);
  EXPECT_GT(on_cpu.generation, 0);
  EXPECT_EQ(plan_for(Program::kTensor).allocated,
            on_cpu.allocated - on_cpu.buffers - on_cpu.generation);
}

TEST(MemoryPlan, CountsTheOptimizersMeansAndTheAverageOfTheWeights) {
  const MemoryPlan adam = PlanFor("");
  // It exists, and is copied before an update and for a checkpoint.
  const std::int64_t one = 3 * 4 * adam.parameters;
  EXPECT_EQ(PlanFor("optimizer: {name: sgd}").network, adam.network - one);
  EXPECT_EQ(PlanFor("train: {ema_decay: 0.99}").network, adam.network + one);
}

TEST(MemoryPlan, CountsTheCopiesOfWeightsThatWaitToBeWritten) {
  const MemoryPlan plan = PlanFor("");
  EXPECT_EQ(PlanFor("checkpoint: {keep_every: 5}").network, plan.network + 3 * 4 * plan.parameters);
}

TEST(MemoryPlan, CountsNoTargetNetworkIfNoRowsAreGenerated) {
  const std::string target = "generate: {target: value_iteration}\n";
  const MemoryPlan walks = PlanFor("generate: {target: walk_length}");
  EXPECT_GT(PlanFor(target).network, walks.network);
  // Weights to publish wait to be written.
  EXPECT_EQ(PlanFor(target + "data: {source: stream}").network,
            walks.network + 3 * 4 * walks.parameters);
}

TEST(MemoryPlan, CountsBothCopiesOfTheWeightsOfAFusedStep) {
  const auto plan = [](const std::string& precision) {
    return PlanFor("train: {step: fused, precision: " + precision + "}");
  };
  const MemoryPlan fp32 = plan("fp32");
  EXPECT_EQ(fp32.network - plan("bf16").network, 2 * (4 - 2) * fp32.parameters);
}

TEST(MemoryPlan, CountsRowsOfStateAndTarget) {
  const std::string rows = "train: {batch_size: 128, iterations_per_update: 2}\n";
  const MemoryPlan plan = PlanFor(rows + "prefetch: {depth: 3}\nvalidation: {every_updates: 0}");
  const std::int64_t order = 2 * 128 * 4;
  EXPECT_EQ(plan.buffers, 2 * 2 * 128 * (54 + 4));
  EXPECT_EQ(plan.batches, 5 * 128 * (54 + 4) + order);
  EXPECT_EQ(plan.inference_inputs, 0);
  EXPECT_GE(plan.network, 10 * 4 * plan.parameters);
  // Each of the 12 actions has a label and a weight.
  EXPECT_EQ(PlanFor(rows + "network: {head: q}").buffers, 2 * 2 * 128 * (54 + 12 * (4 + 4)));
}

TEST(MemoryPlan, CountsTheColumnsAndTheGenerationOfEachHeadAndTarget) {
  const std::string rows = "train: {batch_size: 128, iterations_per_update: 2}\n";
  const auto row_bytes = [&](const char* head) {
    return PlanFor(rows + "network: {head: " + head + "}").buffers / (2 * 2 * 128);
  };
  EXPECT_EQ(row_bytes("vp"), 54 + 4 * (1 + 12));
  EXPECT_EQ(row_bytes("q_in"), 54 + 12 + 4);
  // Q-learning makes one child of each state, and value iteration all twelve.
  const auto generation = [&](const char* target) {
    return PlanFor(rows + "network: {head: q}\ngenerate: {target: " + target + "}").generation;
  };
  EXPECT_EQ(generation("q_learning"), 256 * (3 * 54 + 1 + 2 + 3 * 4));
  EXPECT_GT(generation("value_iteration"), 8 * generation("q_learning"));
}

TEST(MemoryPlan, CountsValidationAndInferenceBatches) {
  const std::string yaml = "validation: {batch_size: 64}\nprefetch: {depth: 1}\n";
  const std::string neither = "validation: {every_updates: 0}\nprefetch: {depth: 1}\n";
  const std::int64_t children = 200 * 12 * (54 + 2 + 8);  // of the states, all at a time
  EXPECT_EQ(PlanFor(yaml).batches - PlanFor(neither).batches, 3 * 64 * (54 + 4) + children);
  const std::string evaluate = "inference: {batch_size: 100}\n";
  EXPECT_EQ(PlanFor(yaml + evaluate).inference_inputs, 2 * 100 * 54);
  EXPECT_EQ(PlanFor(yaml + evaluate + "generate: {target: value_iteration}").inference_inputs,
            2 * 2 * 100 * 54);
  EXPECT_EQ(PlanFor(neither).inference_activations, 0);
  const std::string net = "network: {width: 300, stem_width: 10}\n";
  const std::int64_t fp32 = 100 * (54 * 6 + 4 * 300) * 4;
  EXPECT_EQ(
      PlanFor(yaml + "inference: {batch_size: 100, precision: fp32}\n" + net).inference_activations,
      fp32);
}

TEST(MemoryPlan, PinnedMemoryIsTheSourceOfCopiesToAGpu) {
  Config config = ResolveAutos(ParseConfig("", "my.yaml"), *OpenDevice("cpu"));
  config.train.max_updates = 1;
  EXPECT_EQ(PlanMemory(config).pinned, 0);
  config.device = "cuda:0";
  const MemoryPlan all = PlanMemory(config);
  config.prefetch.pin_memory = false;
  EXPECT_EQ(PlanMemory(config).pinned, all.inference_inputs);
  EXPECT_GT(all.pinned, all.inference_inputs);
  EXPECT_LT(all.pinned, all.inference_inputs + all.batches);  // the order of rows is not copied
}

TEST(MemoryPlan, CountsTheBeamOfValidations) {
  EXPECT_GT(PlanFor("validation: {beam_width: 100000}").batches, 100'000'000);
  EXPECT_LT(PlanFor("").batches, 100'000'000);
}

TEST(MemoryPlan, CountsActivationsForTheBackwardPass) {
  const std::string net = "network: {stem_width: 100, width: 30, blocks: 2}\n";
  const std::int64_t units = 100 + 5 * 30;
  EXPECT_EQ(PlanFor(net + "train: {batch_size: 60}").activations, 60 * 4 * (54 * 6 + 3 * units));
  EXPECT_EQ(PlanFor(net + "train: {batch_size: 60, accumulation_steps: 3}").activations,
            20 * 4 * (54 * 6 + 3 * units));
}

TEST(MemoryPlan, CountsReplay) {
  const std::string rows = "train: {batch_size: 128, iterations_per_update: 2}\n";
  EXPECT_EQ(PlanFor(rows).replay, 0);
  EXPECT_EQ(PlanFor(rows + "replay: {updates: 3}").replay, (3 + 2) * 2 * 128 * (54 + 4));
}

}  // namespace
}  // namespace tandem
