// Tests the modes with a fake generator and a fake trainer whose weights are numbers.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <exception>
#include <future>
#include <optional>
#include <thread>

#include "base/stopwatch.h"
#include "data/replay_buffer.h"
#include "pipeline/pipeline.h"
#include "pipeline/stand_ins.h"
#include "support/temp_folder.h"
#include "tandem/error.h"

namespace tandem {
namespace {

struct Finished {
  std::vector<UpdateRecord> records;
  double seconds = 0;
  PipelineState state;
};

Config ConfigFor(bool async, std::int64_t lag, std::int64_t iterations = 1) {
  Config config;
  config.pipeline.mode = async ? Mode::kAsync : Mode::kSequential;
  config.pipeline.policy_lag = lag;
  config.train.batch_size = kRows / iterations;
  config.train.iterations_per_update = iterations;
  return config;
}

Finished RunAll(StandIns& shared, Config config, std::int64_t updates) {
  StandInGenerator generator(shared);
  StandInTrainer trainer(shared);
  StandInProgress progress;
  progress.on_iteration = shared.on_iteration;
  const StopSignal stop;
  config.pipeline.loss_thresh = shared.refresh.loss_thresh;
  config.pipeline.refresh_every = shared.refresh.refresh_every;
  config.generate.curriculum = !shared.solved.empty();
  config.generate.max_scramble = 12;
  Pipeline pipeline(config,
                    {.trainer = trainer,
                     .hooks = progress.hooks(),
                     .generator = &generator,
                     .replay = shared.replay},
                    shared.first_update, updates, shared.from, stop);
  const Stopwatch watch;
  Finished finished;
  for (std::int64_t k = shared.first_update; k < updates; ++k) {
    finished.records.push_back(pipeline.RunUpdate());
  }
  finished.seconds = watch.Seconds();
  finished.state = pipeline.state();
  EXPECT_EQ(progress.starts, updates - shared.first_update);
  EXPECT_EQ(progress.done.back(), updates);
  return finished;
}

Finished RunAll(StandIns& shared, bool async, std::int64_t lag, std::int64_t updates) {
  return RunAll(shared, ConfigFor(async, lag), updates);
}

std::vector<std::int64_t> Lags(const Finished& finished) {
  std::vector<std::int64_t> lags;
  for (const UpdateRecord& record : finished.records) lags.push_back(record.lag_updates);
  return lags;
}

std::vector<std::int64_t> Ages(const Finished& finished) {
  std::vector<std::int64_t> ages;
  for (const UpdateRecord& record : finished.records) ages.push_back(record.target_age_updates);
  return ages;
}

TEST(LabelStats, LeavesOutMaskedLabels) {
  const Schema schema{.columns = {{.name = "input"},
                                  {.name = "target", .type = ElementType::kFloat32, .width = 2},
                                  {.name = "weight", .type = ElementType::kFloat32, .width = 2}}};
  DataBuffer rows(schema, 2);
  std::ranges::copy(std::array{3.0F, 100.0F, 1.0F, 5.0F}, rows.floats(1).begin());
  EXPECT_FALSE(LabelStatsOf(rows).has_value());  // all weights are 0
  std::ranges::copy(std::array{1.0F, 0.0F, 0.5F, 1.0F}, rows.floats(2).begin());
  const LabelStats stats = LabelStatsOf(rows).value();
  EXPECT_EQ(stats.mean, 3);
  EXPECT_EQ(stats.min, 1);
  EXPECT_EQ(stats.max, 5);
}

TEST(LabelStats, RowsWithoutLabelsHaveNone) {
  EXPECT_FALSE(LabelStatsOf(DataBuffer(kSchema, 2)).has_value());
}

TEST(LossThresh, SkipsTheCopyAfterAnUpdateWithHighLoss) {
  // Updates 1 and 2 have a high loss, so w(2) and w(3) are not copied.
  for (const bool async : {true, false}) {
    StandIns shared{.losses = {0.1, 0.9, 0.9, 0.2}, .refresh = {.loss_thresh = 0.5}};
    const std::int64_t lag = async ? 1 : 0;
    const Finished finished = RunAll(shared, async, lag, 6);
    EXPECT_EQ(Lags(finished), (async ? std::vector<std::int64_t>{0, 1, 1, 1, 1, 1}
                                     : std::vector<std::int64_t>{0, 0, 0, 0, 0, 0}));
    EXPECT_EQ(Ages(finished), (async ? std::vector<std::int64_t>{0, 1, 1, 2, 3, 1}
                                     : std::vector<std::int64_t>{0, 0, 1, 2, 0, 0}));
  }
}

TEST(LossThresh, CopiesIfTheLossEqualsTheThreshold) {
  StandIns shared{.losses = {0.5, 0.5}, .refresh = {.loss_thresh = 0.5}};
  EXPECT_EQ(Ages(RunAll(shared, /*async=*/false, 0, 3)), (std::vector<std::int64_t>{0, 0, 0}));
}

TEST(Refresh, EveryCopiesEveryFewUpdatesWhateverTheLoss) {
  StandIns shared{.losses = {9, 9, 9}, .refresh = {.refresh_every = 3}};
  EXPECT_EQ(Ages(RunAll(shared, /*async=*/false, 0, 7)),
            (std::vector<std::int64_t>{0, 1, 2, 0, 1, 2, 0}));
}

TEST(Refresh, ComparesTheLossWithTheThresholdEveryFewUpdates) {
  // The loss is low after updates 0, 2 and 3, but compared only before updates 2 and 4.
  StandIns shared{.losses = {0.1, 0.9, 0.1, 0.1},
                  .refresh = {.loss_thresh = 0.5, .refresh_every = 2}};
  EXPECT_EQ(Ages(RunAll(shared, /*async=*/false, 0, 6)),
            (std::vector<std::int64_t>{0, 1, 2, 3, 0, 1}));
}

// Resumes the run after each update, with only the two "networks" and state().
TEST(Resume, GivesTheWeightsOfAnUninterruptedRun) {
  struct Case {
    bool async;
    std::int64_t lag;
  };
  for (const Case c : {Case{true, 1}, Case{false, 0}, Case{false, 1}}) {
    const std::vector<double> losses = {0.1, 0.9, 0.9, 0.2, 0.9, 0.1};
    StandIns whole{.losses = losses, .refresh = {.loss_thresh = 0.5}};
    const Finished all = RunAll(whole, c.async, c.lag, 6);
    for (std::int64_t pause = 1; pause < 6; ++pause) {
      StandIns shared{.losses = losses, .refresh = {.loss_thresh = 0.5}};
      // A pipeline with more updates to do would have started the next fill, with the current
      // target network.
      shared.from = RunAll(shared, c.async, c.lag, pause).state;
      shared.first_update = pause;
      const Finished rest = RunAll(shared, c.async, c.lag, 6);
      EXPECT_EQ(shared.weights, whole.weights);
      EXPECT_EQ(Ages(rest).back(), Ages(all).back());
      EXPECT_EQ(Lags(rest).back(), Lags(all).back());
    }
  }
}

TEST(CurriculumOfARun, LongestScrambleDoublesAfterFillsThatSolveHalf) {
  for (const bool async : {true, false}) {
    StandIns shared{.solved = {1, 0.5, 0.49, 0.7, 0.9, 1, 1}};
    const Finished finished = RunAll(shared, async, 1, 7);
    std::vector<std::int64_t> longest;
    for (const UpdateRecord& record : finished.records) {
      longest.push_back(record.fill.longest_scramble.value_or(-1));
      EXPECT_EQ(record.fill.searches_solved, shared.solved[std::size_t(record.update)]);
    }
    EXPECT_EQ(longest, (std::vector<std::int64_t>{1, 2, 4, 4, 8, 12, 12}));
  }
}

TEST(CurriculumOfARun, IsOffUnlessTheConfigAsksForIt) {
  StandIns shared;
  const Finished finished = RunAll(shared, /*async=*/true, 1, 2);
  EXPECT_EQ(finished.records[1].fill.longest_scramble, std::nullopt);
  EXPECT_EQ(finished.records[1].fill.searches_solved, std::nullopt);
}

TEST(CurriculumOfARun, AsyncGivesTheWeightsOfSequentialWithLagOne) {
  const std::vector<double> solved = {1, 0.8, 0.2, 0.6, 0.3, 1};
  for (const milliseconds fill_time : {milliseconds(0), milliseconds(3)}) {
    StandIns async{.fill_time = fill_time, .train_time = milliseconds(1), .solved = solved};
    StandIns sequential{.solved = solved};
    StandIns without;
    RunAll(async, /*async=*/true, 1, 6);
    RunAll(sequential, /*async=*/false, 1, 6);
    RunAll(without, /*async=*/false, 1, 6);
    EXPECT_EQ(async.weights, sequential.weights);
    EXPECT_NE(async.weights, without.weights);
  }
}

TEST(CurriculumOfARun, ResumeAfterEachUpdateGivesSameWeights) {
  const std::vector<double> solved = {1, 0.8, 0.2, 0.6, 0.3, 1};
  for (const bool async : {true, false}) {
    StandIns whole{.solved = solved};
    RunAll(whole, async, 1, 6);
    for (std::int64_t pause = 1; pause < 6; ++pause) {
      StandIns shared{.solved = solved};
      shared.from = RunAll(shared, async, 1, pause).state;
      shared.first_update = pause;
      const Finished rest = RunAll(shared, async, 1, 6);
      EXPECT_EQ(shared.weights, whole.weights) << pause;
      EXPECT_EQ(rest.records.back().fill.longest_scramble, 8);
    }
  }
}

TEST(Async, FillsTheNextBufferWhileItTrains) {
  constexpr int kUpdates = 4;
  StandIns shared;
  const Log& log = shared.log;
  // No update but the last one ends before the next buffer is full.
  shared.on_iteration = [&](std::int64_t updates) {
    if (updates == kUpdates) return;
    WaitUntil([&] { return log.Count("filled " + std::to_string(updates)) > 0; });
  };
  const Finished finished = RunAll(shared, /*async=*/true, 1, kUpdates);
  EXPECT_LT(log.Position("filled 0"), log.Position("train 0"));  // the cold start
  for (int k = 0; k + 1 < kUpdates; ++k) {
    const std::string now = std::to_string(k), next = std::to_string(k + 1);
    EXPECT_LT(log.Position("filled " + next), log.Position("trained " + now));
    EXPECT_LT(log.Position("filled " + next), log.Position("train " + next));
  }
  EXPECT_EQ(log.Count("fill 4"), 0);  // no fill starts that no update would use
  EXPECT_EQ(Lags(finished), (std::vector<std::int64_t>{0, 1, 1, 1}));
}

TEST(Async, RefreshesBetweenFillsAndBeforeTraining) {
  StandIns shared;
  RunAll(shared, /*async=*/true, 1, 3);
  // For any timing of the threads, the target is written after one fill and before the next.
  std::vector<std::string> order;
  for (const std::string& event : shared.log.events()) {
    if (!event.starts_with("train")) order.push_back(event);
  }
  EXPECT_EQ(order, (std::vector<std::string>{"fill 0", "filled 0", "refresh", "fill 1", "filled 1",
                                             "refresh", "fill 2", "filled 2", "refresh"}));
}

TEST(Sequential, AlternatesFillAndTrainWithoutLag) {
  StandIns shared;
  const Finished finished = RunAll(shared, /*async=*/false, 0, 2);
  EXPECT_EQ(shared.log.events(),
            (std::vector<std::string>{"fill 0", "filled 0", "train 0", "trained 0", "refresh",
                                      "fill 1", "filled 1", "train 1", "trained 1"}));
  EXPECT_EQ(Lags(finished), (std::vector<std::int64_t>{0, 0}));
}

TEST(Sequential, AlternatesFillAndTrainWithALagOfOne) {
  StandIns shared;
  const Finished finished = RunAll(shared, /*async=*/false, 1, 3);
  EXPECT_EQ(shared.log.events(),
            (std::vector<std::string>{"fill 0", "filled 0", "refresh", "train 0", "trained 0",
                                      "fill 1", "filled 1", "refresh", "train 1", "trained 1",
                                      "fill 2", "filled 2", "refresh", "train 2", "trained 2"}));
  EXPECT_EQ(Lags(finished), (std::vector<std::int64_t>{0, 1, 1}));
}

TEST(Modes, AsyncGivesTheWeightsOfSequentialWithLagOne) {
  for (const milliseconds fill_time : {milliseconds(0), milliseconds(3)}) {
    for (const milliseconds train_time : {milliseconds(0), milliseconds(3)}) {
      StandIns async{.fill_time = fill_time, .train_time = train_time};
      StandIns lagging, prompt;
      RunAll(async, /*async=*/true, 1, 10);
      RunAll(lagging, /*async=*/false, 1, 10);
      RunAll(prompt, /*async=*/false, 0, 10);
      EXPECT_EQ(async.weights, lagging.weights);
      EXPECT_NE(async.weights, prompt.weights);
    }
  }
}

TEST(Modes, AsyncWithReplayGivesTheWeightsOfSequentialWithLagOne) {
  const auto weights = [](bool async, std::int64_t earlier, milliseconds train_time) {
    ReplayBuffer replay(kSchema, kRows, earlier, /*seed=*/1);
    StandIns shared{.train_time = train_time};
    shared.replay = &replay;
    RunAll(shared, async, 1, 10);
    return shared.weights;
  };
  const double in_turn = weights(false, 2, milliseconds(0));
  for (const int train_time : {0, 3}) {
    EXPECT_EQ(weights(true, 2, milliseconds(train_time)), in_turn);
  }
  EXPECT_NE(weights(true, 1, milliseconds(0)), in_turn);
  StandIns without;
  RunAll(without, /*async=*/true, 1, 10);
  EXPECT_NE(without.weights, in_turn);
  // With a single buffer, every row is drawn.
  EXPECT_EQ(weights(true, 0, milliseconds(0)), without.weights);
}

TEST(Resume, RestoresTheReplayBuffer) {
  constexpr std::int64_t kEarlier = 2;
  ReplayBuffer never_stopped(kSchema, kRows, kEarlier, /*seed=*/1);
  StandIns whole;
  whole.replay = &never_stopped;
  RunAll(whole, /*async=*/true, 1, 8);
  const TempFolder temp;
  for (std::int64_t pause = 1; pause < 8; ++pause) {
    ReplayBuffer before(kSchema, kRows, kEarlier, /*seed=*/1);
    ReplayBuffer after(kSchema, kRows, kEarlier, /*seed=*/1);
    StandIns shared;
    shared.replay = &before;
    shared.from = RunAll(shared, /*async=*/true, 1, pause).state;
    shared.first_update = pause;
    WriteReplay(temp.path() / "replay", before, pause);
    ReadReplay(temp.path() / "replay", after, pause);
    shared.replay = &after;
    RunAll(shared, /*async=*/true, 1, 8);
    EXPECT_EQ(shared.weights, whole.weights);
  }
}

TEST(Modes, WithoutANetworkNothingIsRefreshedAndTheLagIsZero) {
  StandIns shared{.needs_network = false};
  const Finished finished = RunAll(shared, /*async=*/true, 1, 3);
  EXPECT_EQ(shared.log.Count("refresh"), 0);
  EXPECT_EQ(Lags(finished), (std::vector<std::int64_t>{0, 0, 0}));
  EXPECT_EQ(Ages(finished), (std::vector<std::int64_t>{0, 0, 0}));
}

TEST(Modes, RecordsContainFillTimesAndWaits) {
  for (const bool async : {true, false}) {
    StandIns shared{.fill_time = milliseconds(10), .train_time = milliseconds(5)};
    const auto began = Stopwatch::Clock::now();
    const Finished finished = RunAll(shared, async, 1, 4);
    const auto ended = Stopwatch::Clock::now();
    double generator_s = 0;
    auto filled = began;
    for (const UpdateRecord& record : finished.records) {
      EXPECT_GE(record.fill.seconds, 0.010);
      EXPECT_GE(record.fill.began, filled);
      filled = record.fill.began + milliseconds(10);
      EXPECT_LE(filled, ended);
      EXPECT_GE(record.seconds, record.wait_for_rows_s + 0.005);
      generator_s += record.fill.wait_s + record.fill.seconds;
    }
    EXPECT_GE(finished.records[0].wait_for_rows_s, 0.010);
    EXPECT_LE(generator_s, std::chrono::duration<double>(ended - began).count());
    if (!async) {
      EXPECT_GE(finished.records[3].fill.wait_s, 0.005);  // while update 2 trained
      EXPECT_GE(finished.records[3].wait_for_rows_s, 0.010);
    }
  }
}

// Fills and updates sleep, so they overlap even on a single core. In one of three tries, async
// must hide at least half of the fills behind training: other programs may delay a run.
TEST(Modes, AsyncTakesTheMaximumAndSequentialTheSumOfBothTimes) {
  constexpr int kUpdates = 10;
  const auto seconds = [](bool async) {
    StandIns shared{.fill_time = milliseconds(20), .train_time = milliseconds(40)};
    return RunAll(shared, async, 1, kUpdates).seconds;
  };
  bool hides_half = false;
  for (int i = 0; i < 3 && !hides_half; ++i) {
    const double in_turn = seconds(/*async=*/false);
    EXPECT_GE(in_turn, kUpdates * 0.060);
    const double overlapped = seconds(/*async=*/true);
    EXPECT_GE(overlapped, 0.020 + kUpdates * 0.040);
    hides_half = overlapped < in_turn - 0.5 * (kUpdates - 1) * 0.020;
  }
  EXPECT_TRUE(hides_half);
}

void ExpectFailure(StandIns& shared, bool async, const std::string& message) {
  try {
    RunAll(shared, async, 1, 5);
    ADD_FAILURE() << "expected: " << message;
  } catch (const Error& error) {
    EXPECT_EQ(error.what(), message);
  }
}

TEST(Modes, AnExceptionOnEitherSideEndsTheRunWithItsMessage) {
  for (const bool async : {true, false}) {
    for (const std::int64_t at : {0, 2}) {
      StandIns generator_fails{.fill_fails_at = at};
      ExpectFailure(generator_fails, async, "the simulator broke");
      EXPECT_EQ(generator_fails.log.Count("train " + std::to_string(at)), 0);
      StandIns trainer_fails{.train_fails_at = at};
      ExpectFailure(trainer_fails, async, "the loss is not finite");
      EXPECT_EQ(trainer_fails.log.Count("fill " + std::to_string(at + 2)), 0);
    }
  }
}

TEST(Modes, AStopDuringTheColdStartEndsTheWait) {
  StandIns shared{.fill_time = milliseconds(60'000)};
  StandInGenerator generator(shared);
  StandInTrainer trainer(shared);
  StopSignal stop;
  const Config config = ConfigFor(/*async=*/true, 1);
  Pipeline pipeline(config, {.trainer = trainer, .generator = &generator},
                    /*first_update=*/0, /*end_update=*/2, {}, stop);
  std::thread user([&] {
    WaitUntil([&] { return !shared.log.events().empty(); });  // the fill has begun
    stop.Request();
  });
  EXPECT_THROW(pipeline.RunUpdate(), Stopped);
  user.join();
}

// Trains on nothing, as a run does whose rows all come from shards.
class TrainerWithoutRows final : public Trainer {
 public:
  void RefreshTarget() override { ADD_FAILURE() << "there is no target network"; }
  std::unique_ptr<TrainPass> Begin(std::int64_t update, const DataBuffer* rows) override {
    EXPECT_EQ(rows, nullptr);
    updates.push_back(update);
    return std::make_unique<Pass>();
  }

  std::vector<std::int64_t> updates;

 private:
  class Pass final : public TrainPass {
   public:
    bool Step() override { return ++steps_ <= 3; }
    std::int64_t iterations_of_run() const override { return steps_; }
    TrainStats Finish() override { return {.iterations = 3}; }

   private:
    std::int64_t steps_ = 0;
  };
};

TEST(Modes, WithoutAGeneratorNothingIsFilled) {
  TrainerWithoutRows trainer;
  StandInProgress progress;
  const StopSignal stop;
  for (const bool async : {true, false}) {
    const Config config = ConfigFor(async, async ? 1 : 0);
    Pipeline pipeline(config, {.trainer = trainer, .hooks = progress.hooks()}, 0, 2, {}, stop);
    const auto began = Stopwatch::Clock::now();
    const UpdateRecord record = pipeline.RunUpdate();
    EXPECT_EQ(record.train.iterations, 3);
    EXPECT_EQ(record.wait_for_rows_s, 0);
    EXPECT_EQ(record.fill.seconds, 0);
    EXPECT_GE(record.fill.began, began);
    EXPECT_LE(record.fill.began, record.train.began);
    EXPECT_EQ(record.lag_updates, 0);
    EXPECT_EQ(pipeline.RunUpdate().update, 1);
  }
  EXPECT_EQ(trainer.updates, (std::vector<std::int64_t>{0, 1, 0, 1}));
  EXPECT_EQ(progress.done, (std::vector<std::int64_t>{1, 2, 3, 1, 2, 3, 1, 2, 3, 1, 2, 3}));
}

// A generator that does not return until it is released.
class StuckGenerator final : public Generator {
 public:
  bool needs_network() const override { return false; }
  const Schema& schema() const override { return kSchema; }
  void Fill(const FillRequest&, DataBuffer&, const StopSignal&) override {
    began.set_value();
    released.get_future().wait();
  }

  std::promise<void> began, released;
};

TEST(Interrupter, EndsTheWaitForAGeneratorThatDoesNotReturn) {
  for (const bool async : {true, false}) {
    StandIns shared;
    StuckGenerator generator;
    StandInTrainer trainer(shared);
    Interrupter interrupter;
    const StopSignal stop;
    const Config config = ConfigFor(async, async ? 1 : 0);
    Pipeline pipeline(config,
                      {.trainer = trainer, .generator = &generator, .interrupter = &interrupter},
                      /*first_update=*/0, /*end_update=*/3, {}, stop);
    std::thread watchdog([&] {
      generator.began.get_future().wait();
      interrupter.Interrupt(std::make_exception_ptr(Error("no progress")));
    });
    EXPECT_THROW(pipeline.RunUpdate(), Error);
    watchdog.join();
    generator.released.set_value();  // so that the pipeline can end
  }
}

}  // namespace
}  // namespace tandem
