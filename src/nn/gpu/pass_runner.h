// Runs passes (device_pass.h) on a device.
#pragma once

#include <variant>

#include "nn/gpu/backward_passes.h"
#include "nn/gpu/layer_passes.h"
#include "nn/gpu/output_passes.h"

namespace tandem {

/// LayerPass is one of the passes, with the addresses that it reads and writes.
using LayerPass =
    std::variant<OneHotPass<float>, OneHotPass<Bf16>, ForwardPass<float>, ForwardPass<Bf16>,
                 BackwardPass<float>, BackwardPass<Bf16>, BatchMoments<float>, BatchMoments<Bf16>,
                 FinishBatchMoments<float>, FinishBatchMoments<Bf16>, ColumnSums<float>,
                 ColumnSums<Bf16>, FinishSums<1>, FinishSums<3>, OutputPass<float>,
                 OutputPass<Bf16>, OutputInputGradient<float>, OutputInputGradient<Bf16>,
                 OutputWeightSums<float>, OutputWeightSums<Bf16>, AdamPass>;

/// PassRunner runs passes in the memory of its device, on the calling thread's current stream.
class PassRunner {
 public:
  virtual ~PassRunner() = default;
  virtual void Run(const LayerPass& pass) const = 0;
};

/// Runs passes in host memory: each thread of a block after the other, and blocks on as many
/// threads as LibTorch's operators.
class HostPassRunner final : public PassRunner {
 public:
  void Run(const LayerPass& pass) const override;
};

}  // namespace tandem
