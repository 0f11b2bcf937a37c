#include "train/product_meter.h"

#include <ATen/Context.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/randn.h>
#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <memory>
#include <vector>

#include "base/log.h"
#include "base/machine.h"
#include "base/stopwatch.h"
#include "nn/device.h"
#include "nn/network.h"
#include "nn/resnet_fc.h"
#include "nn/threads.h"
#include "nn/torch_message.h"

namespace tandem {
namespace {

constexpr std::int64_t kCpuSize = 1024;
constexpr std::int64_t kGpuSize = 8192;  // with 4096, a GPU reaches a tenth less of its rate
constexpr std::size_t kLeastProducts = 3;
constexpr double kSeconds = 0.3;  // at least

// The rate of a product of large square matrices on `device`, in floating-point operations per
// second: the median of several products of random numbers, in bf16 or fp32, with `threads` CPU
// threads. Takes about 0.4 s, or three products if they take longer. Throws LibTorch's exception if
// there is not enough memory.
double MeasureProductRate(Device& device, bool bf16, int threads) {
  const ScopedThreads scoped(threads);
  const std::unique_ptr<Stream> stream = device.MainStream();
  const std::unique_ptr<StreamScope> scope = stream->Enter();
  const std::int64_t size = device.torch().is_cpu() ? kCpuSize : kGpuSize;
  // With equal numbers a GPU switches fewer transistors, needs less power, and keeps a higher clock
  // than it does in a run. The generator is a copy, so that the run's random numbers stay the same.
  at::Generator generator = at::globalContext().defaultGenerator(device.torch()).clone();
  generator.set_current_seed(1);
  const at::Tensor x = at::randn(
      {size, size}, generator,
      at::TensorOptions().device(device.torch()).dtype(bf16 ? at::kBFloat16 : at::kFloat));
  const auto multiply = [&] {
    const at::Tensor product = at::matmul(x, x);
    device.Synchronize();
  };
  multiply();  // the first product also loads and compiles kernels
  const Stopwatch all;
  std::vector<double> seconds;
  while (seconds.size() < kLeastProducts || all.Seconds() < kSeconds) {
    const Stopwatch one;
    multiply();
    seconds.push_back(one.Seconds());
  }
  const auto median = seconds.begin() + static_cast<std::ptrdiff_t>(seconds.size() / 2);
  std::nth_element(seconds.begin(), median, seconds.end());
  const auto n = static_cast<double>(size);
  return 2 * n * n * n / *median;  // a multiplication and an addition for each pair of elements
}

}  // namespace

// A gathered first layer is not a product.
ProductMeter::ProductMeter(const NetworkSpec& network, const Config& config, Device& device)
    : device_(device),
      bf16_(config.train.precision == Precision::kBf16 ||
            config.inference.precision != Precision::kFp32) {
  const NetworkCost cost = CostOf(network);
  flop_per_trained_row_ = cost.training_flop;
  flop_per_evaluated_row_ = cost.evaluation_flop;
  if (GathersInTraining(config.train, network.input, device.torch())) {
    flop_per_trained_row_ -= 2 * cost.first_layer_flop;
  }
  if (GathersInInference(config.inference, network.input, device.torch())) {
    flop_per_evaluated_row_ -= cost.first_layer_flop;
  }
}

double ProductMeter::Flop(std::int64_t evaluated_rows) const {
  return static_cast<double>(trained_rows_) * flop_per_trained_row_ +
         static_cast<double>(evaluated_rows) * flop_per_evaluated_row_;
}

void ProductMeter::OnColdStartEnd(std::int64_t evaluated_rows) {
  if (!cold_flop_) cold_flop_ = Flop(evaluated_rows);
}

std::optional<ProductReport> ProductMeter::Measure(std::int64_t evaluated_rows) const {
  if (!cold_flop_) return std::nullopt;
  try {
    const double machine_flop_per_s =
        WithPlainErrors([this] { return MeasureProductRate(device_, bf16_, NumCores()); });
    return ProductReport{.flop = Flop(evaluated_rows) - *cold_flop_,
                         .machine_flop_per_s = machine_flop_per_s};
  } catch (const std::exception& error) {
    LogWarning(fmt::format("cannot measure the speed of matrix products: {}", error.what()));
    return std::nullopt;
  }
}

}  // namespace tandem
