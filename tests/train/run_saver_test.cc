// Tests when checkpoints are due.
#include "train/run_saver.h"

#include <gtest/gtest.h>

#include <future>
#include <memory>
#include <utility>

#include "config/load.h"
#include "nn/resnet_fc.h"
#include "support/recording_device.h"
#include "support/small_spec.h"
#include "support/temp_folder.h"
#include "train/checkpoint.h"
#include "train/run_directory.h"

namespace tandem {
namespace {

// A device on which no event happens before `go_on` is ready.
class HeldDevice final : public RecordingDevice {
 public:
  explicit HeldDevice(std::shared_future<void> go_on) : go_on_(std::move(go_on)) {}

  std::unique_ptr<DeviceEvent> RecordEvent() override { return std::make_unique<Event>(go_on_); }

 private:
  class Event final : public DeviceEvent {
   public:
    explicit Event(std::shared_future<void> go_on) : go_on_(std::move(go_on)) {}
    void Await() override { go_on_.wait(); }

   private:
    std::shared_future<void> go_on_;
  };

  const std::shared_future<void> go_on_;
};

TEST(RunSaver, OnlyAnEarlierCheckpointDelaysOneThatIsDue) {
  const TempFolder temp;
  std::promise<void> go_on;
  HeldDevice device(go_on.get_future().share());
  const RunDirectory directory = RunDirectory::Create(temp.path() / "run");
  const Config config =
      ParseConfig("train: {max_updates: 9}\ncheckpoint: {every_updates: 2}\n", "test");
  RunSaver saver(directory, device, config, "puzzle", {});
  const ResNetFC net(SmallSpec(Norm::kNone), 1);
  RunCounters counters;
  counters.updates = 2;
  saver.StartToArchiveNetwork(net.State(), counters);  // is not written yet
  EXPECT_TRUE(saver.CheckpointIsDue(2, /*update_s=*/0));
  saver.StartCheckpoint({.config = config, .counters = counters, .model = net.State()});
  EXPECT_FALSE(saver.CheckpointIsDue(3, 0));
  EXPECT_FALSE(saver.CheckpointIsDue(4, 0));  // due, but the last one is not written yet
  go_on.set_value();
  saver.Wait();
  EXPECT_TRUE(std::filesystem::exists(directory.archived(2)));
  EXPECT_TRUE(std::filesystem::exists(directory.checkpoint()));
  EXPECT_TRUE(saver.CheckpointIsDue(5, 0));
}

}  // namespace
}  // namespace tandem
