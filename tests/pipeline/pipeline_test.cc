// The modes, with a stand-in generator and trainer whose weights are numbers.
#include "pipeline/pipeline.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <mutex>
#include <optional>
#include <thread>

#include "base/stopwatch.h"
#include "tandem/error.h"

namespace tandem {
namespace {

using std::chrono::milliseconds;

const Schema kSchema{.columns = {{.name = "n", .type = ElementType::kFloat32, .width = 1}}};
constexpr std::int64_t kRows = 8;

// What happened, in order, from all threads.
class Log {
 public:
  void Add(const std::string& event) {
    const std::lock_guard lock(mutex_);
    events_.push_back(event);
  }

  std::vector<std::string> events() const {
    const std::lock_guard lock(mutex_);
    return events_;
  }

  std::ptrdiff_t Position(const std::string& event) const {
    const std::vector<std::string> all = events();
    const auto found = std::ranges::find(all, event);
    EXPECT_NE(found, all.end()) << event;
    return found - all.begin();
  }

  std::ptrdiff_t Count(const std::string& event) const {
    const std::vector<std::string> all = events();
    return std::ranges::count(all, event);
  }

 private:
  mutable std::mutex mutex_;
  std::vector<std::string> events_;
};

struct StandIns {
  // The "network" and its target are one number each.
  double weights = 1, target = 1;
  bool asks_network = true;
  milliseconds fill_time{0}, train_time{0};
  std::int64_t fill_fails_at = -1, train_fails_at = -1;
  std::vector<double> losses;  // by update; 0 beyond
  std::optional<double> loss_thresh;
  PipelineOptions from;  // first_update and target are taken from it
  Log log;
};

class StandInGenerator final : public Generator {
 public:
  explicit StandInGenerator(StandIns& shared) : shared_(shared) {}

  bool asks_network() const override { return shared_.asks_network; }

  void Fill(const FillRequest& request, DataBuffer& out, const StopSignal& stop) override {
    shared_.log.Add("fill " + std::to_string(request.update));
    const double target = shared_.target;
    for (auto left = shared_.fill_time; left.count() > 0; left -= milliseconds(1)) {
      if (stop.Reached()) throw Stopped();
      std::this_thread::sleep_for(milliseconds(1));
    }
    if (request.update == shared_.fill_fails_at) throw Error("the simulator broke");
    for (std::int64_t i = 0; i < request.rows; ++i) {
      out.floats(0)[i] = static_cast<float>(0.5 * target + double(request.update * kRows + i) / 64);
    }
    shared_.log.Add("filled " + std::to_string(request.update));
  }

 private:
  StandIns& shared_;
};

class StandInTrainer final : public Trainer {
 public:
  explicit StandInTrainer(StandIns& shared) : shared_(shared) {}

  void PublishTarget() override {
    shared_.log.Add("publish");
    shared_.target = shared_.weights;
  }

  TrainStats Train(std::int64_t update, const DataBuffer& rows, const StopSignal&) override {
    shared_.log.Add("train " + std::to_string(update));
    std::this_thread::sleep_for(shared_.train_time);
    if (update == shared_.train_fails_at) throw Error("the loss is not finite");
    for (const float row : rows.floats(0)) shared_.weights += 0.1 * (row - shared_.weights);
    shared_.log.Add("trained " + std::to_string(update));
    const auto k = static_cast<std::size_t>(update);
    return {.iterations = 1,
            .examples = static_cast<std::int64_t>(rows.rows()),
            .loss = k < shared_.losses.size() ? shared_.losses[k] : 0.0};
  }

 private:
  StandIns& shared_;
};

struct Finished {
  std::vector<UpdateRecord> records;
  double seconds = 0;
  TargetState target;
};

Finished RunAll(StandIns& shared, bool async, std::int64_t lag, std::int64_t updates) {
  StandInGenerator generator(shared);
  StandInTrainer trainer(shared);
  StopSignal stop;
  const auto make = async ? &MakeAsyncPipeline : &MakeSequentialPipeline;
  const auto pipeline = make(generator, trainer, kSchema,
                             {.rows_per_update = kRows,
                              .max_updates = updates,
                              .policy_lag = lag,
                              .loss_thresh = shared.loss_thresh,
                              .first_update = shared.from.first_update,
                              .target = shared.from.target},
                             stop);
  const Stopwatch watch;
  Finished finished;
  for (std::int64_t k = shared.from.first_update; k < updates; ++k) {
    finished.records.push_back(pipeline->RunUpdate());
  }
  finished.seconds = watch.Seconds();
  finished.target = pipeline->target();
  return finished;
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

TEST(LossThresh, HoldsTheTargetNetworkBackAfterABadUpdate) {
  // Updates 1 and 2 are bad, so what would follow them, w2 and w3, is not copied.
  for (const bool async : {true, false}) {
    StandIns shared{.losses = {0.1, 0.9, 0.9, 0.2}, .loss_thresh = 0.5};
    const std::int64_t lag = async ? 1 : 0;
    const Finished finished = RunAll(shared, async, lag, 6);
    EXPECT_EQ(Lags(finished), (async ? std::vector<std::int64_t>{0, 1, 1, 1, 1, 1}
                                     : std::vector<std::int64_t>{0, 0, 0, 0, 0, 0}));
    EXPECT_EQ(Ages(finished), (async ? std::vector<std::int64_t>{0, 1, 1, 2, 3, 1}
                                     : std::vector<std::int64_t>{0, 0, 1, 2, 0, 0}));
  }
}

TEST(LossThresh, CopiesAtALossOfJustThat) {
  StandIns shared{.losses = {0.5, 0.5}, .loss_thresh = 0.5};
  EXPECT_EQ(Ages(RunAll(shared, /*async=*/false, 0, 3)), (std::vector<std::int64_t>{0, 0, 0}));
}

// The run is taken up after each update, with nothing but the two "networks" and target().
TEST(GoingOn, GivesTheWeightsOfARunThatNeverStopped) {
  struct Case {
    bool async;
    std::int64_t lag;
  };
  for (const Case c : {Case{true, 1}, Case{false, 0}, Case{false, 1}}) {
    const std::vector<double> losses = {0.1, 0.9, 0.9, 0.2, 0.9, 0.1};
    StandIns whole{.losses = losses, .loss_thresh = 0.5};
    const Finished all = RunAll(whole, c.async, c.lag, 6);
    for (std::int64_t pause = 1; pause < 6; ++pause) {
      StandIns shared{.losses = losses, .loss_thresh = 0.5};
      // A pipeline that is to do more would have started the next fill, with the target network as
      // it is.
      shared.from.target = RunAll(shared, c.async, c.lag, pause).target;
      shared.from.first_update = pause;
      const Finished rest = RunAll(shared, c.async, c.lag, 6);
      EXPECT_EQ(shared.weights, whole.weights);
      EXPECT_EQ(Ages(rest).back(), Ages(all).back());
      EXPECT_EQ(Lags(rest).back(), Lags(all).back());
    }
  }
}

TEST(Async, FillsTheNextBufferWhileItTrains) {
  StandIns shared{.fill_time = milliseconds(5), .train_time = milliseconds(20)};
  const Finished finished = RunAll(shared, /*async=*/true, 1, 4);
  const Log& log = shared.log;
  EXPECT_LT(log.Position("filled 0"), log.Position("train 0"));  // the cold start
  for (int k = 0; k < 3; ++k) {
    const std::string now = std::to_string(k), next = std::to_string(k + 1);
    EXPECT_LT(log.Position("fill " + next), log.Position("trained " + now));
    EXPECT_LT(log.Position("filled " + next), log.Position("trained " + now));
    EXPECT_LT(log.Position("filled " + next), log.Position("train " + next));
  }
  EXPECT_EQ(log.Count("fill 4"), 0);  // no fill starts that no update will use
  EXPECT_EQ(Lags(finished), (std::vector<std::int64_t>{0, 1, 1, 1}));
}

TEST(Async, PublishesBetweenFillsAndBeforeTraining) {
  StandIns shared;
  RunAll(shared, /*async=*/true, 1, 3);
  // Whatever the threads' timing, the target is written after one fill and before the next.
  std::vector<std::string> order;
  for (const std::string& event : shared.log.events()) {
    if (!event.starts_with("train")) order.push_back(event);
  }
  EXPECT_EQ(order, (std::vector<std::string>{"fill 0", "filled 0", "publish", "fill 1", "filled 1",
                                             "publish", "fill 2", "filled 2", "publish"}));
}

TEST(Sequential, TakesTurnsWithoutLag) {
  StandIns shared;
  const Finished finished = RunAll(shared, /*async=*/false, 0, 2);
  EXPECT_EQ(shared.log.events(),
            (std::vector<std::string>{"fill 0", "filled 0", "train 0", "trained 0", "publish",
                                      "fill 1", "filled 1", "train 1", "trained 1"}));
  EXPECT_EQ(Lags(finished), (std::vector<std::int64_t>{0, 0}));
}

TEST(Sequential, TakesTurnsWithALagOfOne) {
  StandIns shared;
  const Finished finished = RunAll(shared, /*async=*/false, 1, 3);
  EXPECT_EQ(shared.log.events(),
            (std::vector<std::string>{"fill 0", "filled 0", "publish", "train 0", "trained 0",
                                      "fill 1", "filled 1", "publish", "train 1", "trained 1",
                                      "fill 2", "filled 2", "publish", "train 2", "trained 2"}));
  EXPECT_EQ(Lags(finished), (std::vector<std::int64_t>{0, 1, 1}));
}

TEST(Modes, AsyncEndsInTheWeightsOfSequentialWithLagOne) {
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

TEST(Modes, WithoutANetworkThereIsNothingToPublishAndNoLag) {
  StandIns shared{.asks_network = false};
  const Finished finished = RunAll(shared, /*async=*/true, 1, 3);
  EXPECT_EQ(shared.log.Count("publish"), 0);
  EXPECT_EQ(Lags(finished), (std::vector<std::int64_t>{0, 0, 0}));
}

// Simulated delays make this deterministic: g to fill, t to train.
TEST(Modes, AsyncTakesTheLongerSideAndSequentialTheSum) {
  constexpr int kUpdates = 10;
  StandIns async{.fill_time = milliseconds(20), .train_time = milliseconds(40)};
  StandIns sequential{.fill_time = milliseconds(20), .train_time = milliseconds(40)};
  const double overlapped = RunAll(async, true, 1, kUpdates).seconds;
  const double in_turn = RunAll(sequential, false, 1, kUpdates).seconds;
  EXPECT_GE(overlapped, 0.020 + kUpdates * 0.040);
  EXPECT_GE(in_turn, kUpdates * 0.060);
  EXPECT_LT(overlapped, in_turn);
}

void ExpectFailure(StandIns& shared, bool async, const std::string& message) {
  try {
    RunAll(shared, async, 1, 5);
    ADD_FAILURE() << "expected: " << message;
  } catch (const Error& error) {
    EXPECT_EQ(error.what(), message);
  }
}

TEST(Modes, AFailureOnEitherSideEndsBothWithItsOwnMessage) {
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
  const auto pipeline =
      MakeAsyncPipeline(generator, trainer, kSchema,
                        {.rows_per_update = kRows, .max_updates = 2, .policy_lag = 1}, stop);
  std::thread user([&] {
    std::this_thread::sleep_for(milliseconds(10));
    stop.Request();
  });
  EXPECT_THROW(pipeline->RunUpdate(), Stopped);
  user.join();
}

}  // namespace
}  // namespace tandem
