#include "data/shard_pipeline.h"

#include <exception>
#include <utility>

#include "base/timeline.h"

namespace tandem {
namespace {

// The stages of the ring.
constexpr std::size_t kLoad = 0;
constexpr std::size_t kTransfer = 1;
constexpr std::size_t kTake = 2;

}  // namespace

ShardPipeline::ShardPipeline(ChunkStages& stages, const ChunkQueues& queues, std::int64_t first,
                             std::int64_t epoch_steps, Interrupter* interrupter)
    : stages_(stages),
      ring_(queues.num_slots(), /*stages=*/3, {queues.on_host, queues.on_device}),
      steps_(queues.num_slots()),
      registration_(interrupter, [this](const std::exception_ptr& reason) { ring_.Close(reason); }),
      disk_(kDiskThread),
      transfer_(kTransferThread) {
  Start(disk_, kLoad, [this, first, epoch_steps] { LoadEpochs(first, epoch_steps); });
  Start(transfer_, kTransfer, [this] {
    for (;;) {
      const std::size_t slot = Begin(kTransfer);
      stages_.Transfer(steps_[slot], slot);
      ring_.End(kTransfer);
    }
  });
}

ShardPipeline::~ShardPipeline() { ring_.Close(std::make_exception_ptr(Stopped())); }

void ShardPipeline::Start(Worker& worker, std::size_t stage, std::function<void()> work) {
  worker.Post([this, stage, work = std::move(work)] {
    try {
      work();
    } catch (...) {
      ring_.Fail(stage, std::current_exception());
    }
  });
}

void ShardPipeline::LoadEpochs(std::int64_t first, std::int64_t epoch_steps) {
  for (std::int64_t step = first;;) {
    const std::int64_t epoch = step / epoch_steps;
    const Section section("epoch", epoch);
    for (; step < (epoch + 1) * epoch_steps; ++step) {
      const std::size_t slot = Begin(kLoad);
      stages_.Load(step, slot);
      steps_[slot] = step;
      ring_.End(kLoad);
    }
  }
}

// The slot of the stage's next chunk, for a stage that may have to wait for room behind it.
std::size_t ShardPipeline::Begin(std::size_t stage) {
  {
    const Span span(Activity::kWaitForRoom);
    ring_.AwaitRoom(stage);
  }
  const Span span(Activity::kWaitForChunk);
  return ring_.SlotOf(ring_.Begin(stage));
}

ShardPipeline::Item ShardPipeline::Take() {
  const Span span(Activity::kGpuQueueWait);
  const std::size_t slot = ring_.SlotOf(ring_.Begin(kTake));
  return {.step = steps_[slot], .slot = slot};
}

void ShardPipeline::Release() { ring_.End(kTake); }

}  // namespace tandem
