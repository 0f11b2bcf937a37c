#include "nn/tensors/pass_runner.h"

#include <ATen/Parallel.h>

#include <array>

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

}  // namespace tandem
