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
  const std::vector<at::Tensor> from = TensorsOf(net);
  const std::vector<at::Tensor> into = TensorsOf(*net_);
  std::vector<at::Tensor> averages;
  std::vector<at::Tensor> newest;
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (into[i].is_floating_point()) {
      averages.push_back(into[i]);
      newest.push_back(from[i]);
    } else {
      into[i].copy_(from[i]);  // such as the number of batches that batch normalisation has seen
    }
  }
  at::_foreach_lerp_(averages, newest, 1 - decay);
}

}  // namespace tandem
