// Compares training from shards, whose first epoch is not in the page cache, with training on the
// same number of rows from a buffer in memory: compare items_per_second. A wide network spends most
// time computing, a narrow one most time reading rows.
#include <benchmark/benchmark.h>

#include <thread>

#include "bench/cube_shards.h"
#include "loaders/loader.h"
#include "loaders/shard_loader.h"
#include "nn/resnet_fc.h"
#include "nn/threads.h"
#include "train/trainer.h"

namespace tandem {
namespace {

// The config of a trainer whose steps are measured.
Config TrainingConfigFor(bool bf16) {
  Config config;
  config.train.threads = static_cast<int>(std::thread::hardware_concurrency());
  config.train.precision = bf16 ? Precision::kBf16 : Precision::kFp32;
  config.train.backend = BackendKind::kReference;
  return config;
}

constexpr std::int64_t kBatch = 2000;
constexpr std::int64_t kIterations = 50;
constexpr std::int64_t kExamples = 4 << 20;
constexpr int kColours = 6;  // the depth of the network's input

// Trains a network whose width is the benchmark's argument. `rows` is null if all rows come from
// shards.
void Train(benchmark::State& state, Device& device, DataLoader& loader, const DataBuffer* rows) {
  const ScopedThreads threads(static_cast<int>(std::thread::hardware_concurrency()));
  ResNetFC net({.input = {.positions = 54, .depth = kColours},
                .layers = {.width = state.range(0), .blocks = 2, .norm = Norm::kLayer}},
               1);
  TorchTrainer trainer(net, nullptr, loader, device, TrainingConfigFor(device.has_fast_bf16()));
  std::int64_t update = 0;
  for (auto _ : state) {
    const std::unique_ptr<BatchIterator> batches = loader.Open(rows, update++);
    for (std::int64_t i = 0; i < kIterations; ++i) trainer.Step(batches->Next(), 1e-3);
  }
  state.SetItemsProcessed(state.iterations() * kIterations * kBatch);
}

// The first rows of the set: as many as one update needs.
DataBuffer RowsOfAnUpdate() {
  const Config config = CubeConfig();
  const auto domain = MakeDomain(config.domain.full_name());
  DataBuffer rows(ExampleSchema(domain->spec()), static_cast<std::size_t>(kIterations * kBatch));
  MakeGenerator(*domain, config, nullptr)->Fill({.rows = kIterations * kBatch}, rows, StopSignal());
  return rows;
}

void FromMemory(benchmark::State& state) {
  const auto device = OpenDevice("cpu");
  const DataBuffer rows = RowsOfAnUpdate();
  Config config = CubeConfig();
  config.train.batch_size = kBatch;
  DataLoader loader(*device, rows.schema(), config, nullptr);
  Train(state, *device, loader, &rows);
}

void FromDisk(benchmark::State& state) {
  const auto device = OpenDevice("cpu");
  const CubeShards& shards = CubeShards::Get(kExamples);
  Config config = CubeConfig();
  config.data.source = DataSource::kShards;
  config.train.batch_size = kBatch;
  ShardLoader stored(*device, ShardSet(shards.path()), kColours, config, std::nullopt);
  DataLoader loader(*device, stored.set().spec().schema, config, &stored);
  shards.DropFromMemory();
  Train(state, *device, loader, /*rows=*/nullptr);
}

void Widths(benchmark::internal::Benchmark* benchmark) {
  benchmark->ArgName("width")->Arg(256)->Arg(8)->Unit(benchmark::kMillisecond)->UseRealTime();
}
BENCHMARK(FromMemory)->Apply(Widths);
BENCHMARK(FromDisk)->Apply(Widths);

}  // namespace
}  // namespace tandem
