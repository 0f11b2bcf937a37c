// Measures a training step and an evaluation of the quickstart's network, with stickers as its
// input, in fp32 and bf16, and the matrix products of the step alone: compare items_per_second.
#include <ATen/ops/arange.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>
#include <benchmark/benchmark.h>

#include <thread>

#include "nn/inference_net.h"
#include "nn/resnet_fc.h"
#include "nn/threads.h"
#include "train/trainer.h"

namespace tandem {
namespace {

constexpr std::int64_t kBatch = 2000;

int Cores() { return static_cast<int>(std::thread::hardware_concurrency()); }

// The config of a trainer whose steps are measured.
Config TrainingConfigFor(bool bf16) {
  Config config;
  config.train.threads = Cores();
  config.train.precision = bf16 ? Precision::kBf16 : Precision::kFp32;
  return config;
}

NetworkSpec QuickstartNetwork(Norm norm = Norm::kLayer) {
  return {.input = {.positions = 54, .depth = 6},
          .layers = {.width = 256, .blocks = 2, .norm = norm}};
}

void TrainingStep(benchmark::State& state) {
  const ScopedThreads threads(Cores());
  const auto device = OpenDevice("cpu");
  ResNetFC net(QuickstartNetwork(static_cast<Norm>(state.range(0))), 1);
  DataLoader unused(*device, {}, {}, nullptr);  // Step takes its batch as an argument
  TorchTrainer trainer(net, nullptr, unused, *device, TrainingConfigFor(state.range(1) != 0));
  const Batch batch{.inputs = at::randint(0, 6, {kBatch, 54}, at::kByte),
                    .targets = at::randn({kBatch, 1})};
  for (auto _ : state) trainer.Step(batch, 1e-3);
  state.SetItemsProcessed(state.iterations() * kBatch);
}
BENCHMARK(TrainingStep)
    ->ArgNames({"norm", "bf16"})
    ->ArgsProduct({{0, 1, 2}, {0, 1}})
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

// A lower bound of the time of a step: its 15 matrix products, with nothing between them.
void MatrixProductsOfAStep(benchmark::State& state) {
  const ScopedThreads threads(Cores());
  const at::ScalarType type = state.range(0) != 0 ? at::kBFloat16 : at::kFloat;
  const at::Tensor in = at::randn({kBatch, 324}).to(type),
                   hidden = at::randn({kBatch, 256}).to(type);
  const at::Tensor first = at::randn({324, 256}).to(type), other = at::randn({256, 256}).to(type);
  for (auto _ : state) {
    benchmark::DoNotOptimize(at::matmul(in, first));
    benchmark::DoNotOptimize(at::matmul(in.t(), hidden));
    for (int layer = 0; layer < 4; ++layer) {
      benchmark::DoNotOptimize(at::matmul(hidden, other));
      benchmark::DoNotOptimize(at::matmul(hidden, other.t()));
      benchmark::DoNotOptimize(at::matmul(hidden.t(), hidden));
    }
  }
  state.SetItemsProcessed(state.iterations() * kBatch);
}
BENCHMARK(MatrixProductsOfAStep)
    ->ArgName("bf16")
    ->Arg(0)
    ->Arg(1)
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

// Compares Tandem's way of one-hot encoding bytes with comparing them with 0..depth-1.
void OneHotByGathering(benchmark::State& state) {
  const ScopedThreads threads(Cores());
  const OneHot one_hot({54, 6}, at::kBFloat16, c10::kCPU);
  const at::Tensor bytes = at::randint(0, 6, {kBatch, 54}, at::kByte);
  for (auto _ : state) benchmark::DoNotOptimize(one_hot(bytes));
  state.SetItemsProcessed(state.iterations() * kBatch);
}
BENCHMARK(OneHotByGathering)->UseRealTime();

void OneHotByComparing(benchmark::State& state) {
  const ScopedThreads threads(Cores());
  const at::Tensor values = at::arange(6, at::kByte);
  const at::Tensor bytes = at::randint(0, 6, {kBatch, 54}, at::kByte);
  for (auto _ : state) {
    benchmark::DoNotOptimize((bytes.unsqueeze(2) == values).to(at::kBFloat16).view({kBatch, 324}));
  }
  state.SetItemsProcessed(state.iterations() * kBatch);
}
BENCHMARK(OneHotByComparing)->UseRealTime();

void Evaluation(benchmark::State& state) {
  const auto device = OpenDevice("cpu");
  const NetworkSpec spec = QuickstartNetwork(static_cast<Norm>(state.range(0)));
  const ResNetFC net(spec, 1);
  InferenceNet copy(spec,
                    {.batch_size = 4096,
                     .threads = Cores(),
                     .precision = state.range(1) != 0 ? Precision::kBf16 : Precision::kFp32},
                    *device);
  copy.Load(net);
  constexpr std::int64_t kRows = 40'960;
  const at::Tensor rows = at::randint(0, 6, {kRows, 54}, at::kByte);
  std::vector<float> values(kRows);
  for (auto _ : state) {
    copy.Evaluate(ConstRows(rows.const_data_ptr<std::uint8_t>(), kRows, 54), values);
  }
  state.SetItemsProcessed(state.iterations() * kRows);
}
BENCHMARK(Evaluation)
    ->ArgNames({"norm", "bf16"})
    ->ArgsProduct({{0, 1, 2}, {0, 1}})
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

}  // namespace
}  // namespace tandem
