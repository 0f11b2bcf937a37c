// Moves of permutation puzzles on a GPU, and beside them a copy within its memory of as many bytes:
// compare bytes_per_second, which counts what is read and what is written. Skipped, with the
// reason, where there is no GPU.
#include <ATen/ops/randint.h>
#include <ATen/ops/zeros.h>
#include <benchmark/benchmark.h>
#include <c10/cuda/CUDAStream.h>
#include <cuda_runtime_api.h>

#include <memory>
#include <string>
#include <utility>

#include "nn/cuda_permute.h"
#include "nn/device.h"
#include "tandem/error.h"
#include "tandem/registry.h"

namespace tandem {
namespace {

constexpr std::size_t kBytes = std::size_t{1} << 29;  // far more than caches hold

// A GPU and a stream of its own. Where there is none, the benchmark is told to skip, and `device`
// is null.
struct Gpu {
  explicit Gpu(benchmark::State& state) {
    try {
      device = OpenDevice("cuda");
      scope = device->MakeStream()->Enter();
    } catch (const InputError& error) {
      state.SkipWithError(error.what());
    }
  }

  at::Tensor Memory(std::size_t bytes) const {
    return at::zeros({static_cast<std::int64_t>(bytes)}, Bytes());
  }
  at::TensorOptions Bytes() const {
    return at::TensorOptions().dtype(at::kByte).device(device->torch());
  }
  static cudaStream_t stream() { return c10::cuda::getCurrentCUDAStream().stream(); }

  std::unique_ptr<Device> device;
  std::unique_ptr<StreamScope> scope;
};

// `bytes`: read and written by each call of `work`, which makes `rows` rows.
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
  const Gpu gpu(state);
  if (gpu.device == nullptr) return;
  const at::Tensor from = gpu.Memory(kBytes), to = gpu.Memory(kBytes);
  Measure(state, *gpu.device, 0, 2 * kBytes, [&] {
    cudaMemcpyAsync(to.data_ptr(), from.const_data_ptr(), kBytes, cudaMemcpyDeviceToDevice,
                    Gpu::stream());
  });
}
BENCHMARK(CopyOnGpu)->Unit(benchmark::kMicrosecond)->UseRealTime();

// A random action in every row.
void ApplyOnGpu(benchmark::State& state, const std::string& name) {
  const Gpu gpu(state);
  if (gpu.device == nullptr) return;
  const auto domain = MakeDomain(name);
  const CudaPermutations puzzle(dynamic_cast<const PermutationDomain&>(*domain).table());
  const auto row_size = static_cast<std::size_t>(domain->spec().state_size);
  const std::size_t rows = kBytes / row_size;
  const at::Tensor states = gpu.Memory(rows * row_size);
  const at::Tensor actions =
      at::randint(0, domain->spec().num_actions(), {static_cast<std::int64_t>(rows)},
                  gpu.Bytes().dtype(at::kShort));
  Measure(state, *gpu.device, rows, rows * (2 * row_size + sizeof(Action)), [&] {
    puzzle.Apply({states.data_ptr<std::uint8_t>(), rows, row_size},
                 static_cast<const Action*>(actions.const_data_ptr()), Gpu::stream());
  });
}

void ExpandOnGpu(benchmark::State& state, const std::string& name) {
  const Gpu gpu(state);
  if (gpu.device == nullptr) return;
  const auto domain = MakeDomain(name);
  const CudaPermutations puzzle(dynamic_cast<const PermutationDomain&>(*domain).table());
  const auto row_size = static_cast<std::size_t>(domain->spec().state_size);
  const auto num_actions = static_cast<std::size_t>(domain->spec().num_actions());
  const std::size_t rows = kBytes / (row_size * num_actions);
  const std::size_t count = rows * num_actions;
  const at::Tensor states = gpu.Memory(rows * row_size);
  const at::Tensor children = gpu.Memory(count * row_size);
  Measure(state, *gpu.device, count, (rows + count) * row_size, [&] {
    puzzle.Expand({states.data_ptr<std::uint8_t>(), rows, row_size},
                  {children.data_ptr<std::uint8_t>(), count, row_size}, Gpu::stream());
  });
}

const bool kRegistered = [] {
  for (const char* name :
       {"cube3", "permutation:cube4", "permutation:lrx", "permutation:megaminx"}) {
    for (const auto& [kind, bench] :
         {std::pair{"ApplyOnGpu/", &ApplyOnGpu}, {"ExpandOnGpu/", &ExpandOnGpu}}) {
      benchmark::RegisterBenchmark((std::string(kind) + name).c_str(), bench, name)
          ->Unit(benchmark::kMicrosecond)
          ->UseRealTime();
    }
  }
  return true;
}();

}  // namespace
}  // namespace tandem
