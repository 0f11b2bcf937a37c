// Measures training steps and evaluations of networks on a GPU, and the rate of its matrix units:
// compare the counters FLOP/s. Also measures generation and beam search by tensor operations. A
// benchmark that fails, as all do without a GPU, is skipped with the reason.
#include <ATen/ops/matmul.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>
#include <benchmark/benchmark.h>

#include <map>
#include <vector>

#include "base/random.h"
#include "bench/gpu.h"
#include "data/examples.h"
#include "domain/random_walks.h"
#include "nn/inference_net.h"
#include "nn/resnet_fc.h"
#include "nn/threads.h"
#include "tandem/error.h"
#include "tandem/registry.h"
#include "tensor/tensor_programs.h"
#include "train/trainer.h"

namespace tandem {
namespace {

// kQuickstart is the network of configs/quickstart.yaml and reads the pieces of a cube; the others
// read its stickers. kFourMillion has as many parameters.
enum Net : std::int64_t { kQuickstart, kDeepCubeA, kDeepXubeLarge, kFourMillion };

std::unique_ptr<const Domain> CubeOf(std::int64_t net) {
  return MakeDomain(net == kQuickstart ? "cube3:pieces" : "cube3");
}

NetworkSpec SpecOf(std::int64_t net) {
  NetworkSpec spec{.input = CubeOf(net)->spec().input};
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
      spec.layers = {.width = 1024, .blocks = 0, .norm = Norm::kLayer};
  }
  return spec;
}

// Random states of a cube, as the network reads them.
at::Tensor RandomInputs(const NetworkSpec& spec, std::int64_t rows, c10::Device device) {
  return at::randint(0, spec.input.depth, {rows, spec.input.positions},
                     at::TensorOptions().dtype(at::kByte).device(device));
}

// Made once for all benchmarks, because each is called several times and the largest takes seconds
// to make. Never destroyed, because CUDA shuts down before static objects are destroyed.
ResNetFC& NetOnGpu(const Device& device, std::int64_t net) {
  static auto& nets = *new std::map<std::int64_t, ResNetFC*>;
  ResNetFC*& made = nets[net];
  if (made == nullptr) {
    made = new ResNetFC(SpecOf(net), 1);
    made->To(device.torch());
  }
  return *made;
}

// The floating-point operations of the matrix products that evaluate a row.
double EvaluationFlop(const NetworkSpec& spec) {
  double flop = 0;
  for (const LayerShape& shape : LayerShapes(spec)) {
    flop += 2 * static_cast<double>(shape.inputs() * shape.out);
  }
  return flop;
}

// Those that train on a row: two more products for each, apart from the gradients of the first
// layer's inputs.
double TrainingFlop(const NetworkSpec& spec) {
  const LayerShape first = LayerShapes(spec).front();
  return 3 * EvaluationFlop(spec) - 2 * static_cast<double>(first.inputs() * first.out);
}

void CountFlops(benchmark::State& state, double flop_per_row, std::int64_t rows) {
  const double flops = flop_per_row * static_cast<double>(rows);
  state.SetItemsProcessed(state.iterations() * rows);
  state.counters["FLOP/s"] = benchmark::Counter(flops * static_cast<double>(state.iterations()),
                                                benchmark::Counter::kIsRate);
}

constexpr int kStepsAtOnce = 10;  // are enqueued before the host waits, as in a run

// The matrices of a linear layer for some rows, in bf16.
struct LayerMatrices {
  at::Tensor x, weight, y;  // (rows, in), (out, in), (rows, out)
};

// `training`: with the products of the backward pass. A step, or an evaluation, is measured against
// these products, so they come first.
void Products(benchmark::State& state, Device& device, std::int64_t rows, bool training) {
  const NetworkSpec spec = SpecOf(state.range(0));
  std::vector<LayerMatrices> layers;
  for (const LayerShape& shape : LayerShapes(spec)) {
    if (shape.out == spec.outputs) continue;         // the output layer has next to no work
    const std::int64_t in = (shape.in + 7) / 8 * 8;  // aligned
    const auto random = [&](std::int64_t n, std::int64_t m) {
      return at::randn({n, m}, at::TensorOptions().device(device.torch()).dtype(at::kBFloat16));
    };
    layers.push_back(
        {.x = random(rows, in), .weight = random(shape.out, in), .y = random(rows, shape.out)});
  }
  const auto multiply = [&] {
    for (int i = 0; i < kStepsAtOnce; ++i) {
      for (std::size_t l = 0; l < layers.size(); ++l) {
        const auto& [x, weight, y] = layers[l];
        at::matmul(x, weight.t());
        if (!training) continue;
        at::matmul(y.t(), x);
        if (l > 0) at::matmul(y, weight);
      }
    }
    device.Synchronize();
  };
  multiply();
  for (auto _ : state) multiply();
  CountFlops(state, training ? TrainingFlop(spec) : EvaluationFlop(spec), rows * kStepsAtOnce);
}

void ProductsOfAStep(benchmark::State& state) {
  OnGpu(state, [&](Device& device) { Products(state, device, state.range(1), true); });
}
BENCHMARK(ProductsOfAStep)
    ->ArgNames({"net", "rows"})
    ->ArgsProduct({{kQuickstart, kDeepCubeA, kDeepXubeLarge}, {1000, 10000}})
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

// How a training step is done. All but the first are in bf16.
enum Way : std::int64_t { kAutogradFp32, kAutograd, kTensors, kCaptured };

Config TrainingConfigFor(std::int64_t way) {
  Config config;
  config.train.threads = 1;
  config.train.precision = way == kAutogradFp32 ? Precision::kFp32 : Precision::kBf16;
  config.train.backend = way >= kTensors ? BackendKind::kGpu : BackendKind::kReference;
  config.train.may_capture = way == kCaptured;
  return config;
}

void TrainingStep(benchmark::State& state) {
  OnGpu(state, [&](Device& device) {
    if (state.range(2) >= kTensors && device.passes() == nullptr) {
      return state.SkipWithError("there are no kernels for this GPU");
    }
    ResNetFC& net = NetOnGpu(device, state.range(0));
    // Step takes its batch as an argument, so the loader needs no rows.
    DataLoader unused(device, ExampleSchema(MakeDomain("cube3")->spec()), {}, nullptr);
    TorchTrainer trainer(net, nullptr, unused, device, TrainingConfigFor(state.range(2)));
    const std::int64_t rows = state.range(1);
    const Batch batch{.inputs = RandomInputs(net.spec(), rows, device.torch()),
                      .targets = at::randn({rows, 1}, at::TensorOptions().device(device.torch()))};
    const auto steps = [&] {
      for (int i = 0; i < kStepsAtOnce; ++i) trainer.Step(batch, 1e-3);
      device.Synchronize();
    };
    steps();
    for (auto _ : state) steps();
    CountFlops(state, TrainingFlop(net.spec()), rows * kStepsAtOnce);
  });
}
BENCHMARK(TrainingStep)
    ->ArgNames({"net", "rows", "way"})
    ->ArgsProduct({{kQuickstart, kDeepCubeA, kDeepXubeLarge},
                   {1000, 10000},
                   {kAutograd, kTensors, kCaptured}})
    ->Args({kDeepCubeA, 10000, kAutogradFp32})
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

constexpr std::int64_t kEvaluatedAtOnce = InferenceConfig::kGpuRows;

void ProductsOfAnEvaluation(benchmark::State& state) {
  OnGpu(state, [&](Device& device) { Products(state, device, kEvaluatedAtOnce, false); });
}
BENCHMARK(ProductsOfAnEvaluation)
    ->ArgName("net")
    ->Arg(kQuickstart)
    ->Arg(kDeepCubeA)
    ->Arg(kDeepXubeLarge)
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

// An inference copy with random weights.
std::unique_ptr<InferenceNet> CopyOnGpu(Device& device, std::int64_t net,
                                        const InferenceConfig& config) {
  auto copy = std::make_unique<InferenceNet>(SpecOf(net), config, device);
  copy->Load(NetOnGpu(device, net));
  device.Synchronize();
  return copy;
}

// How states are evaluated.
enum Copy : std::int64_t { kOperatorsFp32, kOperatorsBf16, kTensorsBf16, kTensorsFp8 };

InferenceConfig InferenceConfigFor(std::int64_t copy) {
  InferenceConfig config{.batch_size = kEvaluatedAtOnce, .threads = 1};
  config.precision = copy == kOperatorsFp32
                         ? Precision::kFp32
                         : (copy == kTensorsFp8 ? Precision::kFp8 : Precision::kBf16);
  config.backend = copy >= kTensorsBf16 ? BackendKind::kGpu : BackendKind::kReference;
  return config;
}

void Evaluation(benchmark::State& state) {
  OnGpu(state, [&](Device& device) {
    const std::unique_ptr<InferenceNet> copy =
        CopyOnGpu(device, state.range(0), InferenceConfigFor(state.range(1)));
    constexpr std::int64_t kRows = 8 * kEvaluatedAtOnce;
    const at::Tensor rows = RandomInputs(SpecOf(state.range(0)), kRows, c10::kCPU);
    std::vector<float> values(kRows);
    for (auto _ : state) {  // includes the copies to and from the GPU
      copy->Evaluate(ConstRows(rows.const_data_ptr<std::uint8_t>(), kRows,
                               static_cast<std::size_t>(rows.size(1))),
                     values);
    }
    CountFlops(state, EvaluationFlop(SpecOf(state.range(0))), kRows);
  });
}
BENCHMARK(Evaluation)
    ->ArgNames({"net", "copy"})
    ->ArgsProduct({{kQuickstart, kDeepCubeA, kDeepXubeLarge},
                   {kOperatorsBf16, kTensorsBf16, kTensorsFp8}})
    ->Args({kDeepCubeA, kOperatorsFp32})
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

void MatrixProduct(benchmark::State& state) {
  OnGpu(state, [&](Device& device) {
    constexpr std::int64_t kSize = 8192;
    const at::Tensor x =
        at::randn({kSize, kSize}, at::TensorOptions().device(device.torch()).dtype(at::kBFloat16));
    for (auto _ : state) {
      benchmark::DoNotOptimize(at::matmul(x, x));
      device.Synchronize();
    }
    state.counters["FLOP/s"] =
        benchmark::Counter(2.0 * kSize * kSize * kSize * static_cast<double>(state.iterations()),
                           benchmark::Counter::kIsRate);
  });
}
BENCHMARK(MatrixProduct)->Unit(benchmark::kMillisecond)->UseRealTime();

Config TensorConfig() {
  Config config;
  config.generate.program = Program::kTensor;
  config.generate.max_scramble = 30;
  config.generate.chunk_rows = 65'536;
  config.generate.workers = 16;
  config.inference = {.batch_size = 65'536,
                      .threads = 1,
                      .precision = Precision::kBf16,
                      .backend = BackendKind::kReference};
  return config;
}

void Generate(benchmark::State& state, const Config& config, std::int64_t net, std::int64_t rows) {
  OnGpu(state, [&](Device& device) {
    const auto cube = CubeOf(net);
    const std::unique_ptr<InferenceNet> network = CopyOnGpu(device, net, config.inference);
    const auto generator = MakeTensorGenerator(*cube, config, network.get(), device);
    DataBuffer buffer = generator->MakeBuffer(static_cast<std::size_t>(rows));
    FillRequest request{.rows = rows};
    generator->Fill(request, buffer, StopSignal());  // the first use of a kernel loads it
    for (auto _ : state) {
      ++request.update;
      generator->Fill(request, buffer, StopSignal());
    }
    state.SetItemsProcessed(state.iterations() * rows);
  });
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
  OnGpu(state, [&](Device& device) {
    const auto cube = MakeDomain("cube3");
    Config config = TensorConfig();
    config.search = {.program = Program::kTensor, .beam_width = state.range(0), .max_length = 20};
    if (state.range(1) != 0) config.inference.backend = BackendKind::kGpu;
    const std::unique_ptr<InferenceNet> network = CopyOnGpu(device, kFourMillion, config.inference);
    const auto search = MakeTensorBeamSearch(*cube, *network, config, device);
    std::vector<std::uint8_t> start(54);
    WalkFromGoal(*cube, Random(1, Purpose::kScramble), 100, start);
    std::int64_t nodes = 0;
    for (auto _ : state) nodes += search->Solve(start, StopSignal()).nodes;
    state.SetItemsProcessed(nodes);
  });
}
BENCHMARK(TensorBeam)
    ->ArgNames({"width", "tensors"})
    ->ArgsProduct({{1 << 14, 1 << 18}, {0, 1}})
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

}  // namespace
}  // namespace tandem
