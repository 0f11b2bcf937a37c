// Tests the rules of the ring of batches on a device that records its calls.
#include "loaders/loader.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <thread>

#include "data/examples.h"
#include "support/recording_device.h"
#include "support/wait.h"
#include "tandem/error.h"
#include "tensor/device_rows.h"

namespace tandem {
namespace {

const Schema kSchema{.columns = {{.name = "input", .type = ElementType::kUint8, .width = 4},
                                 {.name = "target", .type = ElementType::kFloat32, .width = 1}}};

DataBuffer NumberedRows(std::size_t rows) {
  DataBuffer buffer(kSchema, rows);
  for (std::size_t i = 0; i < rows; ++i) {
    buffer.floats(kTargetColumn)[i] = static_cast<float>(i);
    std::ranges::fill(buffer.column(kInputColumn)[i], static_cast<std::uint8_t>(i));
  }
  return buffer;
}

std::vector<float> Targets(const Batch& batch) {
  const float* data = batch.targets.const_data_ptr<float>();
  return {data, data + batch.targets.numel()};
}

// A loader of batches of ten rows.
BufferLoader Prefetching(Device& device, std::int64_t depth, std::uint64_t seed = 1) {
  return {device, kSchema, 10, {.depth = depth}, seed};
}

BufferLoader NotPrefetching(Device& device) { return {device, kSchema, 10, {.enabled = false}, 1}; }

std::vector<float> Order(BufferLoader& loader, const DataBuffer& rows, std::int64_t update,
                         std::size_t batches) {
  const auto source = loader.Open(rows, update);
  std::vector<float> order;
  for (std::size_t i = 0; i < batches; ++i) {
    const Batch batch = source->Next();
    for (const float target : Targets(batch)) order.push_back(target);
  }
  return order;
}

class Prefetch : public testing::TestWithParam<std::int64_t> {};

TEST_P(Prefetch, HandsOutEveryRowOnceWithItsTarget) {
  RecordingDevice device;
  BufferLoader loader = Prefetching(device, GetParam());
  const DataBuffer rows = NumberedRows(200);
  const auto source = loader.Open(rows, 0);
  std::set<float> seen;
  for (int i = 0; i < 20; ++i) {
    const Batch batch = source->Next();
    const std::vector<float> targets = Targets(batch);
    const std::uint8_t* inputs = batch.inputs.const_data_ptr<std::uint8_t>();
    for (std::size_t row = 0; row < 10; ++row) {
      EXPECT_EQ(inputs[4 * row], static_cast<std::uint8_t>(targets[row]));
      EXPECT_EQ(inputs[4 * row + 3], static_cast<std::uint8_t>(targets[row]));
      seen.insert(targets[row]);
    }
  }
  EXPECT_EQ(seen.size(), 200U);
}

TEST_P(Prefetch, EnqueuesTheNextCopyBeforeItHandsABatchOut) {
  RecordingDevice device;
  BufferLoader loader = Prefetching(device, GetParam());
  const DataBuffer rows = NumberedRows(200);
  const auto source = loader.Open(rows, 0);
  for (int n = 0; n < 20; ++n) {
    source->Next();
    const std::vector<SlotEvent> events = device.recorder.events();
    const auto enqueued = std::ranges::count(events, "enqueue", &SlotEvent::what);
    EXPECT_GE(enqueued, std::min(n + 2, 20));
  }
}

TEST_P(Prefetch, KeepsABatchUntilTheOneAfterTheNextIsRequested) {
  RecordingDevice device;
  BufferLoader loader = Prefetching(device, GetParam());
  const DataBuffer rows = NumberedRows(300);
  const auto source = loader.Open(rows, 0);
  Batch last = source->Next();
  std::vector<float> expected = Targets(last);
  for (int n = 1; n < 30; ++n) {
    const Batch batch = source->Next();
    // Waits until the ring is as far ahead as it can be.
    WaitUntil([&] {
      const std::vector<SlotEvent> events = device.recorder.events();
      return std::ranges::count(events, "enqueue", &SlotEvent::what) ==
             std::min<std::int64_t>(n + 1 + GetParam(), 30);
    });
    EXPECT_EQ(Targets(last), expected);
    last = batch;
    expected = Targets(batch);
  }
}

// The events of each slot must repeat: await host, enqueue, await copy, release.
TEST_P(Prefetch, ReusesASlotOnlyAfterBothItsEvents) {
  RecordingDevice device;
  BufferLoader loader = Prefetching(device, GetParam());
  const DataBuffer rows = NumberedRows(200);
  for (std::int64_t update = 0; update < 3; ++update) Order(loader, rows, update, 20);
  const std::vector<std::string> life = {"await host", "enqueue", "await copy", "release"};
  for (int slot = 0; slot < static_cast<int>(GetParam()) + 2; ++slot) {
    std::size_t step = 0;
    for (const SlotEvent& event : device.recorder.events()) {
      if (event.slot != slot) continue;
      EXPECT_EQ(event.what, life[step++ % life.size()]);
    }
    EXPECT_EQ(step % life.size(), 0U);
    EXPECT_GT(step, 0U);
  }
}

TEST_P(Prefetch, IteratorCanBeDestroyedInTheMiddleOfABuffer) {
  RecordingDevice device;
  BufferLoader loader = Prefetching(device, GetParam());
  const DataBuffer rows = NumberedRows(200);
  const std::vector<float> whole = Order(loader, rows, 7, 20);
  for (const std::size_t taken : {0, 1, 5}) Order(loader, rows, 7, taken);
  EXPECT_EQ(Order(loader, rows, 7, 20), whole);
}

INSTANTIATE_TEST_SUITE_P(Depths, Prefetch, testing::Values(1, 2, 5));

TEST(PrefetchOrder, DependsOnSeedAndUpdate) {
  RecordingDevice device;
  const DataBuffer rows = NumberedRows(200);
  BufferLoader one = Prefetching(device, 2);
  BufferLoader same = Prefetching(device, 4);
  BufferLoader other = Prefetching(device, 2, /*seed=*/2);
  const std::vector<float> order = Order(one, rows, 0, 20);
  EXPECT_FALSE(std::ranges::is_sorted(order));
  EXPECT_EQ(order, Order(same, rows, 0, 20));
  EXPECT_NE(order, Order(one, rows, 1, 20));
  EXPECT_NE(order, Order(other, rows, 0, 20));
}

TEST(WithoutPrefetch, HandsOutTheSameBatchesAsWithPrefetch) {
  RecordingDevice device;
  const DataBuffer rows = NumberedRows(200);
  BufferLoader prefetching = Prefetching(device, 2);
  BufferLoader loader = NotPrefetching(device);
  for (const std::int64_t update : {0, 1}) {
    EXPECT_EQ(Order(loader, rows, update, 20), Order(prefetching, rows, update, 20));
  }
}

TEST(Weights, TravelWithTheirRows) {
  RecordingDevice device;
  Schema schema = kSchema;
  schema.columns.push_back({.name = "weight", .type = ElementType::kFloat32, .width = 1});
  DataBuffer rows(schema, 20);
  for (std::size_t i = 0; i < 20; ++i) {
    rows.floats(kTargetColumn)[i] = static_cast<float>(i);
    rows.floats(kWeightColumn)[i] = static_cast<float>(100 + i);
  }
  BufferLoader loader(device, schema, 10, {.depth = 2}, 1);
  const auto source = loader.Open(rows, 0);
  for (int n = 0; n < 2; ++n) {
    const Batch batch = source->Next();
    EXPECT_TRUE(at::equal(batch.weights, batch.targets + 100));
  }
}

TEST(Weights, AreOneForBatchesThatHaveNone) {
  const auto numbers = [](float value) { return at::full({2, 3}, value); };
  const Batch with{.inputs = numbers(1), .targets = numbers(2), .weights = numbers(0.5)};
  const Batch without{.inputs = numbers(3), .targets = numbers(4)};
  const Batch both = Concatenate({with, without});
  EXPECT_TRUE(at::equal(both.weights, at::cat({numbers(0.5), numbers(1)})));
  EXPECT_TRUE(at::equal(both.targets, at::cat({numbers(2), numbers(4)})));
  EXPECT_FALSE(Concatenate({without, without}).weights.defined());
}

// 23 rows make two batches of ten and one of three.
TEST(BufferLoader, RowsInDeviceMemoryGiveTheBatchesOfRowsInHostMemory) {
  RecordingDevice device;
  DataBuffer on_device = MakeDeviceBuffer(kSchema, 30, device);
  const DataBuffer on_host = NumberedRows(30);
  for (std::size_t column = 0; column < kSchema.columns.size(); ++column) {
    ColumnTensor(on_device, column, c10::kCPU).copy_(ColumnTensor(on_host, column, c10::kCPU));
  }
  for (const bool prefetch : {false, true}) {
    const PrefetchConfig config{.enabled = prefetch};
    BufferLoader of_host(device, kSchema, 10, config, 1);
    BufferLoader of_device(device, kSchema, 10, config, 1, Memory::kDevice);
    const auto expected = of_host.Open(on_host, 4);
    const auto batches = of_device.Open(on_device, 4);
    for (int i = 0; i < 3; ++i) {
      const Batch batch = batches->Next();
      const Batch same = expected->Next();
      EXPECT_TRUE(at::equal(batch.inputs, same.inputs));
      EXPECT_TRUE(at::equal(batch.targets, same.targets));
    }
  }
}

TEST(WithoutPrefetch, KeepsABatchUntilTheOneAfterTheNextIsRequested) {
  RecordingDevice device;
  BufferLoader loader = NotPrefetching(device);
  const DataBuffer rows = NumberedRows(200);
  const auto source = loader.Open(rows, 0);
  const Batch first = source->Next();
  const std::vector<float> expected = Targets(first);
  source->Next();
  EXPECT_EQ(Targets(first), expected);
}

TEST(WithoutPrefetch, ReleasesEverySlotThatItHandedOut) {
  RecordingDevice device;
  BufferLoader loader = NotPrefetching(device);
  const DataBuffer rows = NumberedRows(200);
  for (const std::size_t taken : {0, 1, 2, 5}) {
    const std::size_t before = device.recorder.events().size();
    Order(loader, rows, 0, taken);
    std::vector<SlotEvent> events = device.recorder.events();
    events.erase(events.begin(), events.begin() + static_cast<std::ptrdiff_t>(before));
    EXPECT_EQ(std::ranges::count(events, "enqueue", &SlotEvent::what), std::ptrdiff_t(taken));
    EXPECT_EQ(std::ranges::count(events, "release", &SlotEvent::what), std::ptrdiff_t(taken));
  }
}

TEST(DataLoader, FollowsTheBatchSize) {
  RecordingDevice device;
  Config config;
  config.prefetch.enabled = false;
  const DataBuffer rows = NumberedRows(200);
  for (const std::int64_t batch_size : {10, 20, 40}) {
    config.train.batch_size = batch_size;
    DataLoader loader(device, kSchema, config, nullptr);
    const auto source = loader.Open(&rows, 0);
    std::set<float> seen;
    for (std::int64_t i = 0; i < 200 / batch_size; ++i) {
      const Batch batch = source->Next();
      EXPECT_EQ(batch.inputs.size(0), batch_size);
      for (const float target : Targets(batch)) seen.insert(target);
    }
    EXPECT_EQ(seen.size(), 200U);
  }
}

}  // namespace
}  // namespace tandem
