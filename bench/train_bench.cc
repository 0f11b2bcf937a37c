// Measures a training step and an evaluation of a network of two residual blocks of 256, with
// stickers as its input, in fp32 and bf16, and the matrix products of the step alone: compare
// items_per_second. Then compares pairs of networks, or of ways to compute one, which take turns:
// `speedup` is the first one's time divided by the second one's.
#include <ATen/ops/arange.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/zeros.h>
#include <benchmark/benchmark.h>

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/stopwatch.h"
#include "data/examples.h"
#include "nn/cpu/cpu_backend.h"
#include "nn/inference_net.h"
#include "nn/resnet_fc.h"
#include "nn/threads.h"
#include "tandem/registry.h"
#include "train/trainer.h"

namespace tandem {
namespace {

constexpr std::int64_t kBatch = 2000;

// Of a loader that has no rows, because Step takes its batch as an argument.
Schema NoRows() { return ExampleSchema(MakeDomain("cube3")->spec()); }

int Cores() { return static_cast<int>(std::thread::hardware_concurrency()); }

// The config of a trainer whose steps are measured.
Config TrainingConfigFor(bool bf16) {
  Config config;
  config.train.threads = Cores();
  config.train.precision = bf16 ? Precision::kBf16 : Precision::kFp32;
  config.train.backend = BackendKind::kReference;
  return config;
}

NetworkSpec NetworkOfTwoBlocks(Norm norm = Norm::kLayer) {
  return {.input = {.positions = 54, .depth = 6},
          .layers = {.width = 256, .blocks = 2, .norm = norm}};
}

void TrainingStep(benchmark::State& state) {
  const ScopedThreads threads(Cores());
  const auto device = OpenDevice("cpu");
  ResNetFC net(NetworkOfTwoBlocks(static_cast<Norm>(state.range(0))), 1);
  DataLoader unused(*device, NoRows(), {}, nullptr);
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

// A lower bound of the time of a step: its 14 matrix products, with nothing between them.
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

// The inputs of puzzles of the given sizes: a cube's stickers and its pieces, and the 15-puzzle.
constexpr InputLayout kInputs[] = {
    {.positions = 54, .depth = 6}, {.positions = 20, .depth = 24}, {.positions = 16, .depth = 16}};
constexpr InputLayout kTiles = kInputs[2];

at::Tensor RandomRows(InputLayout input, std::int64_t rows) {
  return at::randint(0, input.depth, {rows, input.positions}, at::kByte);
}

// A network that evaluates rows.
class Evaluated {
 public:
  Evaluated(const NetworkSpec& spec, bool bf16, Device& device)
      : Evaluated(spec, bf16 ? Precision::kBf16 : Precision::kFp32, BackendKind::kReference,
                  device) {}

  Evaluated(const NetworkSpec& spec, Precision precision, BackendKind backend, Device& device)
      : copy_(spec,
              {.batch_size = 4096, .threads = Cores(), .precision = precision, .backend = backend},
              device) {
    copy_.Load(*MakeNetwork(spec, 1));
  }

  void Run(const at::Tensor& rows) {
    values_.resize(static_cast<std::size_t>(rows.size(0)));
    copy_.Evaluate(ConstRows(rows.const_data_ptr<std::uint8_t>(), values_.size(),
                             static_cast<std::size_t>(rows.size(1))),
                   values_);
  }

 private:
  InferenceNet copy_;
  std::vector<float> values_;
};

// A network that is trained.
class Trained {
 public:
  Trained(const NetworkSpec& spec, bool bf16, Device& device,
          BackendKind backend = BackendKind::kReference)
      : net_(MakeNetwork(spec, 1)),
        unused_(device, NoRows(), {}, nullptr),
        trainer_(*net_, nullptr, unused_, device, ConfigFor(bf16, backend)) {}

  void Run(const at::Tensor& rows) {
    trainer_.Step({.inputs = rows, .targets = at::zeros({rows.size(0), 1})}, 1e-3);
  }

 private:
  static Config ConfigFor(bool bf16, BackendKind backend) {
    Config config = TrainingConfigFor(bf16);
    config.train.backend = backend;
    return config;
  }

  std::unique_ptr<Network> net_;
  DataLoader unused_;
  TorchTrainer trainer_;
};

// Runs both networks in turn, so that other work on the machine slows both down alike.
template <class Measured>
void Compare(benchmark::State& state, Measured& first, Measured& second, const at::Tensor& rows) {
  const ScopedThreads threads(Cores());
  first.Run(rows);  // the first call is slow
  second.Run(rows);
  double first_s = 0;
  double second_s = 0;
  for (auto _ : state) {
    {
      const ScopedTimer timer(first_s);
      first.Run(rows);
    }
    const ScopedTimer timer(second_s);
    second.Run(rows);
  }
  const auto all_rows = static_cast<double>(state.iterations() * rows.size(0));
  state.counters["speedup"] = first_s / second_s;
  state.counters["first_rows_per_s"] = all_rows / first_s;
  state.counters["second_rows_per_s"] = all_rows / second_s;
}

// First: gradients by autograd. Second: by the fused step.
void FusedTrainingStep(benchmark::State& state) {
  const InputLayout input = kInputs[state.range(0)];
  const NetworkSpec spec{
      .input = input,
      .layers = {.width = state.range(1), .blocks = 2, .norm = static_cast<Norm>(state.range(2))}};
  const bool bf16 = state.range(3) != 0;
  const auto device = OpenDevice("cpu");
  const std::string why =
      WhyNotFused(spec.layers, bf16 ? Precision::kBf16 : Precision::kFp32, device->torch());
  if (!why.empty()) return state.SkipWithError(why.c_str());
  Trained autograd(spec, bf16, *device);
  Trained fused(spec, bf16, *device, BackendKind::kCpu);
  Compare(state, autograd, fused, RandomRows(input, kBatch));
}
BENCHMARK(FusedTrainingStep)
    ->ArgNames({"input", "width", "norm", "bf16"})
    ->ArgsProduct({{0, 1, 2},
                   {256, 1024},
                   {static_cast<std::int64_t>(Norm::kNone),
                    static_cast<std::int64_t>(Norm::kLayer)},
                   {0, 1}})
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

// Evaluates cubes by stickers. First: LibTorch's operators in bf16. Second: the fused passes.
void FusedEvaluation(benchmark::State& state) {
  static constexpr Precision kPrecisions[] = {Precision::kFp32, Precision::kBf16, Precision::kInt8};
  const NetworkSpec spec{.input = kInputs[0],
                         .layers = {.width = state.range(0),
                                    .blocks = state.range(1),
                                    .norm = static_cast<Norm>(state.range(2))}};
  const auto device = OpenDevice("cpu");
  Evaluated operators(spec, Precision::kBf16, BackendKind::kReference, *device);
  Evaluated fused(spec, kPrecisions[state.range(3)], BackendKind::kCpu, *device);
  Compare(state, operators, fused, RandomRows(spec.input, 40'960));
}
BENCHMARK(FusedEvaluation)
    ->ArgNames({"width", "blocks", "norm", "precision"})
    ->ArgsProduct({{200}, {2}, {static_cast<std::int64_t>(Norm::kBatch)}, {0, 1, 2}})
    ->ArgsProduct({{1000}, {4}, {static_cast<std::int64_t>(Norm::kBatch)}, {0, 1, 2}})
    ->ArgsProduct(
        {{1024}, {0}, {static_cast<std::int64_t>(Norm::kLayer)}, {0, 1}})  // the quickstart's
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

// First: a fully connected network on the 15-puzzle. Second: resnet_2d with the given channels.
template <class Measured>
void Convolutions(benchmark::State& state) {
  const NetworkSpec linear{.input = kTiles,
                           .layers = {.width = 256, .blocks = 2, .norm = Norm::kBatch}};
  NetworkSpec board = linear;
  board.layers.kind = kResNet2d;
  board.layers.channels = state.range(0);
  board.board = BoardShape{.rows = 4, .columns = 4};
  const bool bf16 = state.range(1) != 0;
  const auto device = OpenDevice("cpu");
  Measured first(linear, bf16, *device);
  Measured second(board, bf16, *device);
  Compare(state, first, second, RandomRows(kTiles, kBatch));
}
BENCHMARK(Convolutions<Evaluated>)
    ->ArgNames({"channels", "bf16"})
    ->ArgsProduct({{16, 32, 64}, {0, 1}})
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();
BENCHMARK(Convolutions<Trained>)
    ->ArgNames({"channels", "bf16"})
    ->ArgsProduct({{16, 32, 64}, {0, 1}})
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

}  // namespace
}  // namespace tandem
