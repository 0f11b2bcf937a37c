#include "nn/weight_average.h"

#include <ATen/ops/_foreach_lerp.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <vector>

namespace tandem {
namespace {

std::vector<at::Tensor> TensorsOf(const Network& net) {
  std::vector<at::Tensor> tensors;
  for (const auto& [name, tensor] : net.State()) tensors.push_back(tensor.detach());
  return tensors;
}

}  // namespace

WeightAverage::WeightAverage(const Network& net, double decay)
    : net_(MakeNetwork(net.spec(), /*seed=*/0)), decay_(decay) {
  const c10::NoGradGuard no_grad;
  net_->To(net.parameters().front().device());
  const std::vector<at::Tensor> from = TensorsOf(net);
  const std::vector<at::Tensor> into = TensorsOf(*net_);
  for (std::size_t i = 0; i < from.size(); ++i) into[i].copy_(from[i]);
}

void WeightAverage::Add(const Network& net, std::int64_t iteration) {
  const c10::NoGradGuard no_grad;
  const auto n = static_cast<double>(iteration);
  const double decay = std::min(decay_, (1 + n) / (10 + n));
  at::_foreach_lerp_(TensorsOf(*net_), TensorsOf(net), 1 - decay);
}

}  // namespace tandem
