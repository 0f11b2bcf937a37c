// Measures the disk stage, which reads and checks chunks, and dd on the same files in the same run:
// compare bytes_per_second. `cold` files are read from the disk, others from the page cache. From
// the page cache, dd does little more than copy to the processor's cache.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <cstdlib>
#include <vector>

#include "bench/cube_shards.h"
#include "data/shard_pipeline.h"
#include "data/shard_set.h"

namespace tandem {
namespace {

constexpr std::int64_t kExamples = 16 << 20;  // 928 MiB

const CubeShards& Shards() { return CubeShards::Get(kExamples); }

// Calls `read`, which reads the whole set once, repeatedly.
template <class Read>
void Measure(benchmark::State& state, const Read& read) {
  const CubeShards& shards = Shards();
  for (auto _ : state) {
    state.PauseTiming();
    if (state.range(0) != 0) shards.DropFromMemory();
    state.ResumeTiming();
    read(shards.path());
  }
  state.SetBytesProcessed(state.iterations() * shards.bytes());
}

void Dd(benchmark::State& state) {
  Measure(state, [](const std::filesystem::path& folder) {
    const std::string command = fmt::format(
        "for file in {}/*.tandem; do dd if=$file of=/dev/null bs=1M status=none || exit 1; done",
        folder.string());
    if (std::system(command.c_str()) != 0) throw Error("dd failed");
  });
}

// Reads and checks chunks as training does, for a consumer that takes no time.
class Reading final : public ChunkStages {
 public:
  Reading(const ShardSet& set, const ChunkQueues& queues)
      : set_(set),
        order_(set.spec(), /*seed=*/1),
        slots_(queues.num_slots(), std::vector<std::byte>(set.spec().BytesOfChunk(0))) {}

  void Load(std::int64_t step, std::size_t slot) override {
    set_.Read(order_.ChunkOf(step), slots_[slot]);
  }
  void Transfer(std::int64_t /*step*/, std::size_t /*slot*/) override {}

 private:
  const ShardSet& set_;
  EpochOrder order_;
  std::vector<std::vector<std::byte>> slots_;
};

void Stage(benchmark::State& state) {
  const ShardSet set(Shards().path());
  const ChunkQueues queues;
  Reading reading(set, queues);
  Measure(state, [&](const std::filesystem::path&) {
    const std::int64_t chunks = set.spec().num_chunks();
    ShardPipeline pipeline(reading, queues, 0, chunks);
    for (std::int64_t i = 0; i < chunks; ++i) {
      pipeline.Take();
      pipeline.Release();
    }
  });
}

BENCHMARK(Dd)->ArgName("cold")->Arg(0)->Arg(1)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(Stage)->ArgName("cold")->Arg(0)->Arg(1)->Unit(benchmark::kMillisecond)->UseRealTime();

}  // namespace
}  // namespace tandem
