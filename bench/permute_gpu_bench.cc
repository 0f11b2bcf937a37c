// Measures moves of permutation puzzles on a GPU, and a copy of as many bytes within its memory:
// compare bytes_per_second, which counts bytes read and written. A benchmark that fails, as all do
// without a GPU, is skipped with the reason.
#include <ATen/ops/arange.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/zeros.h>
#include <benchmark/benchmark.h>
#include <c10/cuda/CUDAStream.h>
#include <cuda_runtime_api.h>

#include <string>
#include <utility>

#include "bench/gpu.h"
#include "nn/device.h"
#include "tandem/permutation.h"
#include "tandem/registry.h"

namespace tandem {
namespace {

constexpr std::size_t kBytes = std::size_t{1} << 29;  // far more than the caches

at::TensorOptions BytesOf(const Device& device) {
  return at::TensorOptions().dtype(at::kByte).device(device.torch());
}

at::Tensor Memory(const Device& device, std::size_t bytes) {
  return at::zeros({static_cast<std::int64_t>(bytes)}, BytesOf(device));
}

at::Tensor MemoryOfRows(const Device& device, std::size_t rows, std::size_t row_size) {
  return Memory(device, rows * row_size).view({static_cast<std::int64_t>(rows), -1});
}

// Each call of `work` makes `rows` rows, and reads and writes `bytes` bytes.
template <class Work>
void Measure(benchmark::State& state, Device& device, std::size_t rows, std::size_t bytes,
             const Work& work) {
  work();
  device.Synchronize();
  for (auto _ : state) {
    work();
    device.Synchronize();
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(rows));
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(bytes));
}

void CopyOnGpu(benchmark::State& state) {
  OnGpu(state, [&](Device& device) {
    const at::Tensor from = Memory(device, kBytes), to = Memory(device, kBytes);
    Measure(state, device, 0, 2 * kBytes, [&] {
      cudaMemcpyAsync(to.data_ptr(), from.const_data_ptr(), kBytes, cudaMemcpyDeviceToDevice,
                      c10::cuda::getCurrentCUDAStream().stream());
    });
  });
}
BENCHMARK(CopyOnGpu)->Unit(benchmark::kMicrosecond)->UseRealTime();

// Applies a random action to every row.
void ApplyOnGpu(benchmark::State& state, const std::string& name) {
  OnGpu(state, [&](Device& device) {
    const auto domain = MakeDomain(name);
    const auto permuter =
        device.MakePermuter(dynamic_cast<const PermutationDomain&>(*domain).table());
    const auto row_size = static_cast<std::size_t>(domain->spec().state_size);
    const std::size_t rows = kBytes / row_size;
    const at::Tensor states = MemoryOfRows(device, rows, row_size);
    const at::Tensor actions =
        at::randint(0, domain->spec().num_actions(), {static_cast<std::int64_t>(rows)},
                    BytesOf(device).dtype(at::kShort));
    Measure(state, device, rows, rows * (2 * row_size + sizeof(Action)),
            [&] { permuter->Apply(states, actions); });
  });
}

void ExpandOnGpu(benchmark::State& state, const std::string& name) {
  OnGpu(state, [&](Device& device) {
    const auto domain = MakeDomain(name);
    const auto permuter =
        device.MakePermuter(dynamic_cast<const PermutationDomain&>(*domain).table());
    const auto row_size = static_cast<std::size_t>(domain->spec().state_size);
    const auto num_actions = static_cast<std::size_t>(domain->spec().num_actions());
    const std::size_t rows = kBytes / (row_size * num_actions);
    const std::size_t count = rows * num_actions;
    const at::Tensor states = MemoryOfRows(device, rows, row_size);
    const at::Tensor children = MemoryOfRows(device, count, row_size);
    Measure(state, device, count, (rows + count) * row_size,
            [&] { permuter->Expand(states, children); });
  });
}

// Walks of 22 steps, with a state after each step. Counts the bytes of actions, places and states.
void WalkOnGpu(benchmark::State& state, const std::string& name) {
  OnGpu(state, [&](Device& device) {
    constexpr std::int64_t kSteps = 22;
    constexpr std::int64_t kWalks = 200'000;
    const auto domain = MakeDomain(name);
    const auto permuter =
        device.MakePermuter(dynamic_cast<const PermutationDomain&>(*domain).table());
    const auto row_size = static_cast<std::size_t>(domain->spec().state_size);
    constexpr std::size_t kRows = kSteps * kWalks;
    const at::Tensor actions = at::randint(0, domain->spec().num_actions(), {kSteps, kWalks},
                                           BytesOf(device).dtype(at::kInt));
    const at::Tensor places =
        at::arange(kWalks, (kSteps + 1) * kWalks, BytesOf(device).dtype(at::kLong));
    const at::Tensor states = MemoryOfRows(device, kRows, row_size);
    Measure(state, device, kRows, kRows * (row_size + sizeof(std::int32_t) + sizeof(std::int64_t)),
            [&] { permuter->Walk(actions, places, states); });
  });
}

const bool kRegistered = [] {
  for (const char* name :
       {"cube3", "permutation:cube4", "permutation:lrx", "permutation:megaminx"}) {
    for (const auto& [kind, bench] : {std::pair{"ApplyOnGpu/", &ApplyOnGpu},
                                      {"ExpandOnGpu/", &ExpandOnGpu},
                                      {"WalkOnGpu/", &WalkOnGpu}}) {
      benchmark::RegisterBenchmark((std::string(kind) + name).c_str(), bench, name)
          ->Unit(benchmark::kMicrosecond)
          ->UseRealTime();
    }
  }
  return true;
}();

}  // namespace
}  // namespace tandem
