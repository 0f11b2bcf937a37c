// Compares beam search by tensor operations with exact solutions of random puzzles.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>

#include "nn/device.h"
#include "nn/inference_net.h"
#include "nn/network.h"
#include "support/compare_searches.h"
#include "tensor/tensor_programs.h"

namespace tandem {

/// Runs the trials with these seeds on the CPU, and stops at the first that fails. The networks
/// have random weights.
inline void RunTensorTrials(std::uint64_t first, std::uint64_t count) {
  const std::unique_ptr<Device> device = OpenDevice("cpu");
  for (std::uint64_t seed = first; seed < first + count && !testing::Test::HasFailure(); ++seed) {
    Trial trial(seed, Program::kTensor);
    Config config = trial.config();
    config.network.width = 8;
    config.network.blocks = 1;
    config.inference = {.batch_size = 16,
                        .threads = 1,
                        .precision = Precision::kFp32,
                        .backend = BackendKind::kReference};
    const NetworkSpec spec = NetworkFor(config.network, trial.domain().spec());
    InferenceNet net(spec, config.inference, *device);
    net.Load(*MakeNetwork(spec, seed));
    const auto search = MakeTensorBeamSearch(trial.domain(), net, config, *device, trial.ball());
    trial.Run(*search);
  }
}

}  // namespace tandem
