// Tests sync_main with a fake generator, labeller, network and trainer.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <limits>
#include <set>
#include <thread>

#include "data/replay_buffer.h"
#include "generate/bellman.h"
#include "pipeline/generator_thread.h"
#include "pipeline/pipeline.h"
#include "support/ring_domain.h"
#include "support/wait.h"
#include "tandem/error.h"

namespace tandem {
namespace {

using std::chrono::milliseconds;

constexpr int kCells = 100;
constexpr std::int64_t kRows = 8;
constexpr std::int64_t kIterations = 4;
constexpr std::int64_t kEarlier = 2;

// The state that the fakes share. The "network" is a number: how many iterations it was trained.
struct World {
  int requests = 6;  // requests in each fill
  int fill_fails_at = -1, network_fails_at = -1, labelling_fails_at = -1, train_fails_at = -1;
  std::vector<double> losses;  // by update; 0 for later updates
  std::optional<double> loss_thresh;
  milliseconds iteration_time{0}, serve_time{0};

  // Written by the main thread only.
  std::int64_t weights = 0, target = 0;
  bool training = false;  // within an iteration
  std::vector<std::int64_t> labelled_by;
  std::vector<std::vector<float>> trained;       // the rows' cells, by update
  std::vector<std::int64_t> fills_when_trained;  // fills started by the end of each update

  // Written by the generator thread only, and read after it has ended.
  std::vector<float> results;
  std::atomic<int> fills = 0, requested = 0;
};

// Row i of update k is the ring with its marker at cell k * kRows + i + 2, away from the goal, so
// that each row can be recognised.
class RequestingGenerator final : public Generator {
 public:
  RequestingGenerator(World& world, const Domain& domain, Evaluator& network)
      : world_(world), network_(network), schema_(StateSchema(domain.spec())) {}

  bool needs_network() const override { return true; }
  const Schema& schema() const override { return schema_; }

  void Fill(const FillRequest& request, DataBuffer& out, const StopSignal& stop) override {
    ++world_.fills;
    for (int i = 0; i < world_.requests; ++i) {
      if (stop.Reached()) throw Stopped();
      const std::uint8_t input = 0;
      float result = 0;
      ++world_.requested;
      network_.Evaluate(ConstRows(&input, 1, 1), {&result, 1});
      world_.results.push_back(result);
    }
    if (request.update == world_.fill_fails_at) throw Error("the simulator broke");
    for (std::int64_t i = 0; i < request.rows; ++i) {
      const auto cell = static_cast<std::size_t>(request.update * kRows + i + 2);
      const std::span<std::uint8_t> state = out.column(kStateColumn)[static_cast<std::size_t>(i)];
      std::ranges::fill(state, std::uint8_t{0});
      state[cell] = 1;
      out.floats(kBoundColumn)[static_cast<std::size_t>(i)] =
          std::numeric_limits<float>::infinity();
    }
  }

 private:
  World& world_;
  Evaluator& network_;
  const Schema schema_;
};

class Network final : public Evaluator {
 public:
  explicit Network(World& world) : world_(world) {}

  void Evaluate(ConstRows /*inputs*/, std::span<float> values) override {
    EXPECT_EQ(std::this_thread::get_id(), main_);
    EXPECT_FALSE(world_.training);
    if (queries_++ == world_.network_fails_at) throw Error("the network broke");
    TakeTime(world_.serve_time);
    values[0] = static_cast<float>(world_.weights);
  }

 private:
  World& world_;
  const std::thread::id main_ = std::this_thread::get_id();
  int queries_ = 0;
};

// Estimates every state at the number of iterations that the target network has.
class TargetNetwork final : public Evaluator {
 public:
  explicit TargetNetwork(World& world) : world_(world) {}

  void Evaluate(ConstRows /*inputs*/, std::span<float> values) override {
    const auto update = static_cast<int>(world_.labelled_by.size());
    if (update == world_.labelling_fails_at) throw Error("the target network broke");
    world_.labelled_by.push_back(world_.target);
    std::ranges::fill(values, static_cast<float>(world_.target));
  }

 private:
  World& world_;
};

class CountingTrainer final : public Trainer {
 public:
  explicit CountingTrainer(World& world) : world_(world) {}

  void RefreshTarget() override { world_.target = world_.weights; }

  std::unique_ptr<TrainPass> Begin(std::int64_t update, const DataBuffer* rows) override {
    if (update == world_.train_fails_at) throw Error("the loss is not finite");
    std::vector<float>& cells = world_.trained.emplace_back();
    for (std::size_t i = 0; i < rows->rows(); ++i) {
      const auto input = rows->column(kInputColumn)[i];
      cells.push_back(static_cast<float>(std::ranges::find(input, 1) - input.begin()));
      // The label of a state away from the goal is the cost of an action plus the estimate.
      EXPECT_EQ(rows->floats(kTargetColumn)[i], static_cast<float>(world_.target) + 1);
    }
    return std::make_unique<Pass>(world_, update);
  }

 private:
  class Pass final : public TrainPass {
   public:
    Pass(World& world, std::int64_t update) : world_(world), update_(update) {}

    bool Step() override {
      if (done_ == kIterations) return false;
      world_.training = true;
      TakeTime(world_.iteration_time);
      ++world_.weights;
      ++done_;
      world_.training = false;
      return true;
    }

    std::int64_t iterations_of_run() const override { return update_ * kIterations + done_; }

    TrainStats Finish() override {
      world_.fills_when_trained.push_back(world_.fills);
      const auto k = static_cast<std::size_t>(update_);
      return {.iterations = done_, .loss = k < world_.losses.size() ? world_.losses[k] : 0};
    }

   private:
    World& world_;
    const std::int64_t update_;
    std::int64_t done_ = 0;
  };

  World& world_;
};

Config ConfigFor(const World& world) {
  Config config;
  config.pipeline.mode = Mode::kSyncMain;
  config.pipeline.policy_lag = 0;
  config.pipeline.loss_thresh = world.loss_thresh;
  config.generate.target = Target::kValueIteration;
  config.generate.workers = 2;
  config.train.batch_size = kRows / kIterations;
  config.train.iterations_per_update = kIterations;
  return config;
}

// All objects of a run, with its own stop signal.
struct SyncMainRun {
  SyncMainRun(World& world, std::int64_t updates, std::int64_t first_update = 0)
      : config(ConfigFor(world)),
        network(world),
        queue(network),
        generator(world, ring, queue),
        target(world),
        labeller(ring, target, config),
        trainer(world),
        pipeline(std::make_unique<Pipeline>(config,
                                            PipelineParts{.trainer = trainer,
                                                          .hooks = hooks(),
                                                          .generator = &generator,
                                                          .replay = &replay,
                                                          .queue = &queue,
                                                          .labeller = &labeller},
                                            first_update, updates, PipelineState{}, stop)) {}

  TrainingHooks hooks() {
    return {.on_iteration_end = [this](std::int64_t iterations) { on_iteration(iterations); }};
  }

  StopSignal stop;
  const Config config;
  RingDomain ring{kCells};
  Network network;
  InferenceQueue queue;
  RequestingGenerator generator;
  ReplayBuffer replay{StateSchema(ring.spec()), kRows, kEarlier, /*seed=*/1};
  TargetNetwork target;
  StoredStateLabeller labeller;
  CountingTrainer trainer;
  std::function<void(std::int64_t)> on_iteration = [](std::int64_t /*iterations*/) {};
  std::unique_ptr<Pipeline> pipeline;  // declared last: its thread uses the members before it
};

// Makes the first iteration of each update wait until so many fills have started.
void AwaitFills(SyncMainRun& run, World& world, std::vector<int> by_update) {
  run.on_iteration = [&world, by_update](std::int64_t iterations) {
    const int fills = by_update[world.trained.size() - 1];
    if (iterations % kIterations == 1) WaitUntil([&] { return world.fills >= fills; });
  };
}

std::vector<UpdateRecord> RunAll(World& world, std::int64_t updates) {
  SyncMainRun run(world, updates);
  std::vector<UpdateRecord> records;
  for (std::int64_t k = 0; k < updates; ++k) records.push_back(run.pipeline->RunUpdate());
  return records;
}

TEST(SyncMain, MainThreadServesEveryRequestBetweenIterations) {
  for (const int requests : {0, 1, 3, 100}) {  // fewer and more than the iterations of an update
    World world{.requests = requests};
    RunAll(world, 5);
    EXPECT_EQ(world.results.size(), static_cast<std::size_t>(5 * requests));
    EXPECT_TRUE(std::ranges::is_sorted(world.results));  // each by the network of that moment
  }
}

TEST(SyncMain, SearchesQueryTheNetworkBeingTrained) {
  World world{.requests = kIterations, .iteration_time = milliseconds(5)};
  {
    SyncMainRun run(world, 2);
    run.on_iteration = [&](std::int64_t /*iterations*/) {
      WaitUntil([&] { return world.requested > kIterations; });  // the fill of buffer 1 runs
    };
    run.pipeline->RunUpdate();
    run.pipeline->RunUpdate();
  }
  // Buffer 1 was filled during update 0, and saw weights from the middle of the update.
  const std::set<float> seen(world.results.begin() + kIterations, world.results.end());
  EXPECT_TRUE(std::ranges::any_of(seen, [](float w) { return 0 < w && w < kIterations; }));
}

TEST(SyncMain, FillsTheNextBufferWhileItTrainsAndStartsNoUnusedFill) {
  World world{.requests = 1};
  SyncMainRun run(world, 3);
  AwaitFills(run, world, {2, 3, 3});
  for (int k = 0; k < 3; ++k) run.pipeline->RunUpdate();
  EXPECT_EQ(world.fills_when_trained, (std::vector<std::int64_t>{2, 3, 3}));
}

TEST(SyncMain, TrainsOnASampleOfTheLastBuffers) {
  World world;
  RunAll(world, 7);
  std::set<float> ever;
  for (std::int64_t k = 0; k < 7; ++k) {
    const std::set<float> ids(world.trained[k].begin(), world.trained[k].end());
    EXPECT_EQ(ids.size(), static_cast<std::size_t>(kRows));  // each at most once
    const std::int64_t oldest = std::max<std::int64_t>(0, k - kEarlier);
    EXPECT_GE(*ids.begin(), static_cast<float>(oldest * kRows + 2));
    EXPECT_LT(*ids.rbegin(), static_cast<float>((k + 1) * kRows + 2));
    ever.insert(ids.begin(), ids.end());
  }
  EXPECT_GT(ever.size(), static_cast<std::size_t>(4 * kRows));
}

TEST(SyncMain, LabelsRowsWithTheNetworkFromTheStartOfTheUpdate) {
  World world;
  for (const UpdateRecord& record : RunAll(world, 4)) {
    EXPECT_EQ(record.lag_updates, 0);
    EXPECT_EQ(record.target_age_updates, 0);
    EXPECT_EQ(record.train.iterations, kIterations);
    EXPECT_TRUE(record.complete);
    EXPECT_GE(record.seconds, record.label_s);
  }
  EXPECT_EQ(world.labelled_by, (std::vector<std::int64_t>{0, 4, 8, 12}));
}

TEST(SyncMain, LossThreshSkipsTargetNetworkCopies) {
  World world{.losses = {0.1, 0.9, 0.9, 0.2}, .loss_thresh = 0.5};
  std::vector<std::int64_t> ages;
  for (const UpdateRecord& record : RunAll(world, 6)) ages.push_back(record.target_age_updates);
  EXPECT_EQ(world.labelled_by, (std::vector<std::int64_t>{0, 4, 4, 4, 16, 20}));
  EXPECT_EQ(ages, (std::vector<std::int64_t>{0, 0, 1, 2, 0, 0}));
}

TEST(SyncMain, ResumesAfterAnUpdate) {
  World world;
  SyncMainRun run(world, 6, /*first_update=*/4);
  EXPECT_EQ(run.pipeline->RunUpdate().update, 4);
  EXPECT_EQ(run.pipeline->RunUpdate().update, 5);
  EXPECT_EQ(world.fills, 2);
  EXPECT_EQ(run.pipeline->state().target.offered, 5);
}

void ExpectFailure(World world, const std::string& message) {
  try {
    RunAll(world, 6);
    ADD_FAILURE() << "expected: " << message;
  } catch (const Error& error) {
    EXPECT_EQ(error.what(), message);
  }
}

TEST(SyncMain, AnExceptionOnAnySideEndsTheRunWithItsMessage) {
  for (const int at : {0, 3}) {
    ExpectFailure({.fill_fails_at = at}, "the simulator broke");
    ExpectFailure({.network_fails_at = 7 * at}, "the network broke");
    ExpectFailure({.labelling_fails_at = at}, "the target network broke");
    ExpectFailure({.train_fails_at = at}, "the loss is not finite");
  }
}

TEST(SyncMain, AStopDuringTheColdStartEndsTheWait) {
  World world{.requests = 1'000'000'000};
  SyncMainRun run(world, 3);
  std::thread user([&] {
    WaitUntil([&] { return world.requested > 10; });
    run.stop.Request();
  });
  EXPECT_THROW(run.pipeline->RunUpdate(), Stopped);
  user.join();
}

TEST(SyncMain, StopEndsTrainingBetweenIterations) {
  World world{.requests = 20};
  SyncMainRun run(world, 3);
  run.on_iteration = [&](std::int64_t iterations) {
    if (iterations == 2) run.stop.Request();
  };
  const UpdateRecord record = run.pipeline->RunUpdate();
  EXPECT_EQ(record.train.iterations, 2);
  EXPECT_FALSE(record.complete);
}

// The request of the next fill is never served. The test passes if it ends.
TEST(SyncMain, DestructorEndsAFillThatWaitsForAResult) {
  World world{.requests = 100};
  {
    SyncMainRun run(world, 3);
    AwaitFills(run, world, {2});
    run.pipeline->RunUpdate();
  }
  EXPECT_EQ(world.fills, 2);
  EXPECT_LT(world.results.size(), 200U);
}

TEST(SyncMain, RecordsContainServingAndLabellingTimes) {
  World world{.requests = 3, .serve_time = milliseconds(2)};
  SyncMainRun run(world, 3);
  double serve_s = 0;
  for (int k = 0; k < 3; ++k) {
    const UpdateRecord record = run.pipeline->RunUpdate();
    serve_s += record.serve_s;
    EXPECT_GE(record.fill.seconds, 3 * 0.002);
    EXPECT_GE(record.seconds, record.wait_for_rows_s + record.label_s);
    EXPECT_GT(record.label_s, 0);
    if (k == 0) {
      EXPECT_GE(record.wait_for_rows_s, 3 * 0.002);
      EXPECT_GE(record.serve_s, 3 * 0.002);
    }
  }
  EXPECT_NEAR(serve_s, run.queue.seconds(), 1e-9);
}

}  // namespace
}  // namespace tandem
