// Measures training steps and evaluations of networks on a GPU, and the rate of its matrix units:
// compare the counters FLOP/s. Also measures generation and beam search by tensor operations.
// Without a GPU the benchmarks are skipped, with the reason.
#include <ATen/ops/matmul.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>
#include <benchmark/benchmark.h>

#include <map>

#include "base/random.h"
#include "domain/random_walk.h"
#include "nn/inference_net.h"
#include "nn/products.h"
#include "nn/resnet_fc.h"
#include "tandem/error.h"
#include "tandem/registry.h"
#include "tensor/tensor_beam_search.h"
#include "tensor/tensor_generator.h"
#include "train/trainer.h"

namespace tandem {
namespace {

// The config of a trainer whose steps are measured.
Config TrainingConfigFor(bool bf16) {
  Config config;
  config.train.threads = 1;
  config.train.precision = bf16 ? Precision::kBf16 : Precision::kFp32;
  return config;
}

// All networks read the stickers of a cube. kFourMillion has as many parameters.
enum Net : std::int64_t { kQuickstart, kDeepCubeA, kDeepXubeLarge, kFourMillion };

NetworkSpec SpecOf(std::int64_t net) {
  NetworkSpec spec{.input = {.positions = 54, .depth = 6}};
  switch (net) {
    case kDeepCubeA:
      spec.layers = {.stem_width = 5000, .width = 1000, .blocks = 4, .norm = Norm::kBatch};
      break;
    case kDeepXubeLarge:
      spec.layers = {.width = 5000, .blocks = 4, .norm = Norm::kBatch};
      break;
    case kFourMillion:
      spec.layers = {.width = 1000, .blocks = 2, .norm = Norm::kLayer};
      break;
    default:
      spec.layers = {.width = 256, .blocks = 2, .norm = Norm::kLayer};
  }
  return spec;
}

// Returns nothing if there is no GPU, and makes the benchmark skip.
std::shared_ptr<Device> Gpu(benchmark::State& state) {
  try {
    return OpenDevice("cuda");
  } catch (const InputError& error) {
    state.SkipWithError(error.what());
    return nullptr;
  }
}

// Made once for all benchmarks, because each is called several times and the largest takes seconds
// to make. Never destroyed, because CUDA shuts down before static objects are destroyed.
ResNetFC& NetOnGpu(const Device& device, std::int64_t net) {
  static auto& nets = *new std::map<std::int64_t, ResNetFC*>;
  ResNetFC*& made = nets[net];
  if (made == nullptr) {
    made = new ResNetFC(SpecOf(net), 1);
    made->to(device.torch());
  }
  return *made;
}

// `flop_per_row` is evaluation_flop or training_flop of NetworkCost.
void CountFlops(benchmark::State& state, double flop_per_row, std::int64_t rows) {
  const double flops = flop_per_row * static_cast<double>(rows);
  state.SetItemsProcessed(state.iterations() * rows);
  state.counters["FLOP/s"] = benchmark::Counter(flops * static_cast<double>(state.iterations()),
                                                benchmark::Counter::kIsRate);
}

void TrainingStep(benchmark::State& state) {
  const std::shared_ptr<Device> device = Gpu(state);
  if (device == nullptr) return;
  const std::unique_ptr<StreamScope> stream = device->MainStream()->Enter();
  ResNetFC& net = NetOnGpu(*device, state.range(0));
  DataLoader unused(*device, {}, {}, nullptr);  // Step takes its batch as an argument
  TorchTrainer trainer(net, nullptr, unused, *device, TrainingConfigFor(state.range(2) != 0));
  const std::int64_t rows = state.range(1);
  const auto on_gpu = at::TensorOptions().device(device->torch());
  const Batch batch{.inputs = at::randint(0, 6, {rows, 54}, on_gpu.dtype(at::kByte)),
                    .targets = at::randn({rows, 1}, on_gpu)};
  trainer.Step(batch, 1e-3);
  device->Synchronize();
  for (auto _ : state) {
    trainer.Step(batch, 1e-3);
    device->Synchronize();
  }
  CountFlops(state, CostOf(net.spec()).training_flop, rows);
}
BENCHMARK(TrainingStep)
    ->ArgNames({"net", "rows", "bf16"})
    ->ArgsProduct({{kQuickstart, kDeepCubeA, kDeepXubeLarge}, {1000, 10000}, {0, 1}})
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

void Evaluation(benchmark::State& state) {
  const std::shared_ptr<Device> device = Gpu(state);
  if (device == nullptr) return;
  const NetworkSpec spec = SpecOf(state.range(0));
  const ResNetFC& net = NetOnGpu(*device, state.range(0));
  InferenceNet copy(spec,
                    {.batch_size = 16'384,
                     .threads = 1,
                     .precision = state.range(1) != 0 ? Precision::kBf16 : Precision::kFp32},
                    *device);
  copy.Load(net);
  device->Synchronize();
  constexpr std::int64_t kRows = 131'072;
  const at::Tensor rows = at::randint(0, 6, {kRows, 54}, at::kByte);
  std::vector<float> values(kRows);
  for (auto _ : state) {  // includes the copies to and from the GPU
    copy.Evaluate(ConstRows(rows.const_data_ptr<std::uint8_t>(), kRows, 54), values);
  }
  CountFlops(state, CostOf(spec).evaluation_flop, kRows);
}
BENCHMARK(Evaluation)
    ->ArgNames({"net", "bf16"})
    ->ArgsProduct({{kQuickstart, kDeepCubeA, kDeepXubeLarge}, {0, 1}})
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

void MatrixProduct(benchmark::State& state) {
  const std::shared_ptr<Device> device = Gpu(state);
  if (device == nullptr) return;
  const std::unique_ptr<StreamScope> stream = device->MainStream()->Enter();
  constexpr std::int64_t kSize = 8192;
  const at::Tensor x =
      at::randn({kSize, kSize}, at::TensorOptions().device(device->torch()).dtype(at::kBFloat16));
  for (auto _ : state) {
    benchmark::DoNotOptimize(at::matmul(x, x));
    device->Synchronize();
  }
  state.counters["FLOP/s"] =
      benchmark::Counter(2.0 * kSize * kSize * kSize * static_cast<double>(state.iterations()),
                         benchmark::Counter::kIsRate);
}
BENCHMARK(MatrixProduct)->Unit(benchmark::kMillisecond)->UseRealTime();

// An inference copy in bf16 with random weights.
std::unique_ptr<InferenceNet> CopyOnGpu(Device& device, std::int64_t net,
                                        const InferenceConfig& config) {
  auto copy = std::make_unique<InferenceNet>(SpecOf(net), config, device);
  copy->Load(NetOnGpu(device, net));
  device.Synchronize();
  return copy;
}

Config TensorConfig() {
  Config config;
  config.generate.program = Program::kTensor;
  config.generate.max_scramble = 30;
  config.generate.chunk_rows = 65'536;
  config.generate.workers = 16;
  config.inference = {.batch_size = 65'536, .threads = 1, .precision = Precision::kBf16};
  return config;
}

void Generate(benchmark::State& state, const Config& config, std::int64_t net, std::int64_t rows) {
  const std::shared_ptr<Device> device = Gpu(state);
  if (device == nullptr) return;
  const auto cube = MakeDomain("cube3");
  const std::unique_ptr<InferenceNet> network = CopyOnGpu(*device, net, config.inference);
  const auto generator = MakeTensorGenerator(*cube, config, network.get(), *device);
  DataBuffer buffer = generator->MakeBuffer(static_cast<std::size_t>(rows));
  FillRequest request{.rows = rows};
  for (auto _ : state) {
    generator->Fill(request, buffer, StopSignal());
    ++request.update;
  }
  state.SetItemsProcessed(state.iterations() * rows);
}

void GenerateWalks(benchmark::State& state) {
  Generate(state, TensorConfig(), kQuickstart, 3'000'000);
}
BENCHMARK(GenerateWalks)->Unit(benchmark::kMillisecond)->UseRealTime();

void GenerateBackups(benchmark::State& state) {
  Config config = TensorConfig();
  config.generate.target = Target::kValueIteration;
  Generate(state, config, state.range(0), 200'000);
}
BENCHMARK(GenerateBackups)
    ->ArgName("net")
    ->Arg(kQuickstart)
    ->Arg(kDeepCubeA)
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

// Twenty depths of a search that finds nothing. A cube needs about as many.
void TensorBeam(benchmark::State& state) {
  const std::shared_ptr<Device> device = Gpu(state);
  if (device == nullptr) return;
  const auto cube = MakeDomain("cube3");
  Config config = TensorConfig();
  config.search = {.program = Program::kTensor, .beam_width = state.range(0), .max_length = 20};
  const std::unique_ptr<InferenceNet> network = CopyOnGpu(*device, kFourMillion, config.inference);
  TensorBeamSearch search(*cube, *network, config, *device);
  std::vector<std::uint8_t> start(54);
  WalkFromGoal(*cube, Random(1, Purpose::kScramble), 100, start);
  std::int64_t nodes = 0;
  for (auto _ : state) nodes += search.Solve(start, StopSignal()).nodes;
  state.SetItemsProcessed(nodes);
}
BENCHMARK(TensorBeam)
    ->ArgName("width")
    ->Arg(1 << 14)
    ->Arg(1 << 18)
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

}  // namespace
}  // namespace tandem
