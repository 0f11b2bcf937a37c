#include "nn/gpu/gpu_backend.h"

#include <ATen/Parallel.h>
#include <fmt/format.h>

#include <array>
#include <variant>

#include "nn/gpu/pass_runner.h"

namespace tandem {
namespace {

template <int V, class Pass>
void RunBlock(const Pass& pass, std::int64_t x, std::int64_t y) {
  std::array<float, kPassSharedFloats> shared{};
  for (int stage = 0; stage < Pass::kStages; ++stage) {
    for (int row = 0; row < kThreadRows; ++row) {
      for (int lane = 0; lane < kThreadLanes; ++lane) {
        pass.template Run<V>(stage, {.block_x = x, .block_y = y, .row = row, .lane = lane},
                             shared.data());
      }
    }
  }
}

template <int V, class Pass>
void RunBlocks(const Pass& pass) {
  const PassGrid grid = pass.grid();
  at::parallel_for(0, grid.x * grid.y, /*grain_size=*/1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      RunBlock<V>(pass, i % grid.x, i / grid.x);
    }
  });
}

}  // namespace

void HostPassRunner::Run(const LayerPass& pass) const {
  std::visit(
      [](const auto& of_type) {
        if (of_type.aligned()) {
          RunBlocks<kPassVector>(of_type);
        } else {
          RunBlocks<1>(of_type);
        }
      },
      pass);
}

namespace {

class GpuBackend final : public Backend {
 public:
  // A CPU runs it too, but slowly.
  bool IsFastOn(const Device& device) const override { return !device.torch().is_cpu(); }

  bool HasPrecision(Precision precision) const override {
    return Backend::HasPrecision(precision) || precision == Precision::kFp8;
  }

  std::string WhyNot(const NetworkConfig& network, Precision precision,
                     const Device& device) const override {
    if (!IsFullyConnected(network.kind)) return "it computes resnet_fc and mlp only";
    if (device.passes() == nullptr) {
      return "on a GPU it needs a build of Tandem with nvcc, for an architecture that the GPU runs";
    }
    if (precision != Precision::kFp8 || device.has_fp8()) return "";
    return fmt::format(
        "products in fp8 need a GPU of compute capability 8.9 or more, and this run uses {}",
        device.description());
  }

  std::unique_ptr<GradientStep> MakeStep(Network& net, const TrainingConfig& config,
                                         Device& device) const override {
    return MakeTensorStep(dynamic_cast<ResNetFC&>(net), config, device);
  }

  std::unique_ptr<NetworkCopy> MakeCopy(const NetworkSpec& spec, const InferenceConfig& config,
                                        const Device& device) const override {
    return MakeTensorCopy(spec, config, device);
  }
};

TANDEM_REGISTER_BACKEND(kGpu, GpuBackend);

}  // namespace

}  // namespace tandem
