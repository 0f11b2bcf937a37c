// Streams order the work on a GPU, so every operator of a run must be on one of the run's streams.
#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

#include "nn/device.h"
#include "support/recorded_ops.h"
#include "support/recording_device.h"
#include "support/small_run.h"
#include "support/temp_folder.h"
#include "train/train_run.h"

namespace tandem {
namespace {

constexpr const char* kStreaming =
    "generate: {target: value_iteration, max_scramble: 8}\n"
    "network: {width: 16, blocks: 1, norm: batch}\n"
    "train: {batch_size: 20, iterations_per_update: 3, max_updates: 3}\n"
    "validation: {every_updates: 1, states: 20}\n";

thread_local int scopes = 0;  // that the thread is in

class CountedScope final : public StreamScope {
 public:
  CountedScope() { ++scopes; }
  ~CountedScope() override { --scopes; }
};

class CountedStream final : public Stream {
 public:
  std::unique_ptr<StreamScope> Enter() override { return std::make_unique<CountedScope>(); }
};

// A CPU device whose streams count the scopes that the calling thread is in.
class StreamCountingDevice final : public Device {
 public:
  c10::Device torch() const override { return cpu_->torch(); }
  std::string description() const override { return "cpu"; }
  bool has_fast_bf16() const override { return false; }
  std::unique_ptr<Stream> MainStream() override { return std::make_unique<CountedStream>(); }
  std::unique_ptr<Stream> MakeStream() override { return std::make_unique<CountedStream>(); }
  std::vector<std::unique_ptr<TransferSlot>> MakeSlots(std::size_t count,
                                                       const std::vector<TensorSpec>& tensors,
                                                       const PrefetchConfig& config) override {
    const CountedScope scope;
    return cpu_->MakeSlots(count, tensors, config);
  }
  void Synchronize() override {}

 private:
  std::unique_ptr<Device> cpu_ = OpenDevice("cpu");
};

std::vector<std::string> OpsOutsideStreams(const std::vector<std::string>& sets) {
  const TempFolder folder;
  const auto device = std::make_shared<StreamCountingDevice>();
  const Config config = ConfigWith(kStreaming, sets, *device);
  const StopSignal stop;
  const RecordedOps outside([](const at::RecordFunction& op) {
    return scopes == 0 ? std::string(op.name()) : std::string();
  });
  TrainRun run(
      config,
      {.device = device, .directory = RunDirectory::Create(folder.path() / "run"), .stop = stop});
  ToTheEnd(run);
  return outside.all();
}

TEST(Streams, EveryOperatorOfARunIsOnAStreamOfTheRun) {
  const std::vector<std::string> none;
  EXPECT_EQ(OpsOutsideStreams({"pipeline.mode=async"}), none);
  EXPECT_EQ(OpsOutsideStreams({"pipeline.mode=sync_main", "generate.search=greedy",
                               "replay.updates=1", "prefetch.enabled=false"}),
            none);
  EXPECT_EQ(OpsOutsideStreams({"backend=reference"}), none);
  EXPECT_EQ(OpsOutsideStreams({"domain.name=npuzzle", "domain.size=3", "network.kind=resnet_2d",
                               "network.channels=4"}),
            none);
}

class SynchronizedByOneThread final : public RecordingDevice {
 public:
  void Synchronize() override { EXPECT_EQ(std::this_thread::get_id(), thread_); }

 private:
  const std::thread::id thread_ = std::this_thread::get_id();
};

// The thread that trains may be recording a CUDA graph, which a wait for the whole device breaks.
TEST(Streams, AThreadThatWritesWeightsWaitsForTheirCopyAlone) {
  const TempFolder folder;
  const auto device = std::make_shared<SynchronizedByOneThread>();
  const Config config =
      ConfigWith(kStreaming, {"checkpoint.every_updates=1", "checkpoint.keep_every=1"}, *device);
  TrainToTheEnd(config, device, RunDirectory::Create(folder.path() / "run"));
  const std::vector<SlotEvent> events = device->recorder.events();
  int recorded = 0;
  for (auto event = events.begin(); event != events.end(); ++event) {
    if (event->what != "record event") continue;
    ++recorded;
    EXPECT_NE(std::find(event, events.end(), SlotEvent{"await event", event->slot}), events.end());
  }
  EXPECT_GE(recorded, 3);
}

}  // namespace
}  // namespace tandem
