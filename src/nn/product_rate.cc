#include "nn/product_rate.h"

#include <ATen/ops/matmul.h>
#include <ATen/ops/ones.h>

#include <algorithm>

#include "base/stopwatch.h"
#include "nn/threads.h"

namespace tandem {
namespace {

constexpr std::int64_t kCpuSize = 1024;
constexpr std::int64_t kGpuSize = 8192;  // with 4096, a GPU reaches a tenth less of its rate
constexpr int kLeastProducts = 3;
constexpr double kSeconds = 0.05;

constexpr double kFlopOfWeight = 2;  // a multiplication and an addition

double WeightsOf(const DenseShape& layer) { return static_cast<double>(layer.in * layer.out); }

double FirstWeights(const NetworkSpec& spec) { return WeightsOf(LayerShapes(spec).front()); }

double Weights(const NetworkSpec& spec) {
  double weights = 0;
  for (const DenseShape& layer : LayerShapes(spec)) weights += WeightsOf(layer);
  return weights;
}

}  // namespace

double EvaluationFlop(const NetworkSpec& spec) { return kFlopOfWeight * Weights(spec); }

double TrainingFlop(const NetworkSpec& spec) {
  return kFlopOfWeight * (3 * Weights(spec) - FirstWeights(spec));
}

double MeasureProductRate(Device& device, bool bf16, int threads) {
  const ScopedThreads scoped(threads);
  const std::unique_ptr<Stream> stream = device.MainStream();
  const std::unique_ptr<StreamScope> scope = stream->Enter();
  const std::int64_t size = device.torch().is_cpu() ? kCpuSize : kGpuSize;
  const at::Tensor x =
      at::ones({size, size},
               at::TensorOptions().device(device.torch()).dtype(bf16 ? at::kBFloat16 : at::kFloat));
  const auto multiply = [&] {
    const at::Tensor product = at::matmul(x, x);
    device.Synchronize();
  };
  multiply();  // the first product also loads and compiles kernels
  const Stopwatch all;
  double least = 1e9;
  for (int i = 0; i < kLeastProducts || all.Seconds() < kSeconds; ++i) {
    const Stopwatch one;
    multiply();
    least = std::min(least, one.Seconds());
  }
  const auto n = static_cast<double>(size);
  return kFlopOfWeight * n * n * n / least;
}

}  // namespace tandem
