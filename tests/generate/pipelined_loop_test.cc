#include "generate/pipelined_loop.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <oneapi/tbb/global_control.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "support/wait.h"
#include "tandem/error.h"

namespace tandem {
namespace {

using testing::ElementsAre;

// The stages in the order in which they begin and end: "+prepare 0" and "-prepare 0".
class StageLog {
 public:
  PipelinedLoop::Turn Logged(const std::string& stage, PipelinedLoop::Turn work = {}) {
    return [this, stage, work](std::int64_t turn) {
      const std::string name = stage + " " + std::to_string(turn);
      Append("+" + name);
      if (work) work(turn);
      Append("-" + name);
    };
  }

  std::vector<std::string> events() const {
    const std::lock_guard lock(mutex_);
    return events_;
  }

  bool Has(const std::string& event) const {
    const std::lock_guard lock(mutex_);
    return std::ranges::find(events_, event) != events_.end();
  }

  // The position of an event; a failure if it did not happen.
  std::ptrdiff_t At(const std::string& event) const {
    EXPECT_TRUE(Has(event)) << event;
    const std::lock_guard lock(mutex_);
    return std::ranges::find(events_, event) - events_.begin();
  }

  std::vector<std::string> Ended(const std::vector<std::string>& stages) const {
    std::vector<std::string> ended;
    for (const std::string& event : events()) {
      const std::string stage = event.substr(1, event.find(' ') - 1);
      const bool counts = std::ranges::find(stages, stage) != stages.end();
      if (event[0] == '-' && counts) ended.push_back(event.substr(1));
    }
    return ended;
  }

 private:
  void Append(const std::string& event) {
    const std::lock_guard lock(mutex_);
    events_.push_back(event);
  }

  mutable std::mutex mutex_;
  std::vector<std::string> events_;
};

std::string Event(const char* name, std::int64_t turn) {
  return name + std::string(" ") + std::to_string(turn);
}

class Pipelined : public testing::Test {
 protected:
  // Machines with one core would otherwise give the arena no worker.
  const tbb::global_control threads_{tbb::global_control::max_allowed_parallelism, 4};
  tbb::task_arena arena_{2};
  StopSignal stop_;
  StageLog log_;
};

TEST_F(Pipelined, StagesOfATurnEndBeforeATurnWithTheSameMemoryBegins) {
  constexpr std::int64_t kTurns = 20;
  for (const int workers : {1, 4}) {
    tbb::task_arena arena(workers);
    StageLog log;
    PipelinedLoop(arena, kTurns, stop_, log.Logged("prepare"), log.Logged("evaluate"),
                  log.Logged("finish"))
        .Run();
    EXPECT_EQ(log.events().size(), 6 * kTurns);
    for (std::int64_t turn = 0; turn < kTurns; ++turn) {
      EXPECT_LT(log.At(Event("-prepare", turn)), log.At(Event("+evaluate", turn)));
      EXPECT_LT(log.At(Event("-evaluate", turn)), log.At(Event("+finish", turn)));
      if (turn + 2 >= kTurns) continue;
      EXPECT_LT(log.At(Event("-finish", turn)), log.At(Event("+prepare", turn + 2)));
    }
  }
}

TEST_F(Pipelined, ArenaRunsOneStageAtATimeInAFixedOrder) {
  PipelinedLoop(arena_, 4, stop_, log_.Logged("prepare"), log_.Logged("evaluate"),
                log_.Logged("finish"))
      .Run();
  EXPECT_THAT(log_.Ended({"prepare", "finish"}),
              ElementsAre("prepare 0", "prepare 1", "finish 0", "prepare 2", "finish 1",
                          "prepare 3", "finish 2", "finish 3"));
}

TEST_F(Pipelined, WorkersFinishOneTurnAndPrepareAnotherDuringAnEvaluation) {
  const auto evaluate = [&](std::int64_t turn) {
    if (turn != 1) return;
    WaitUntil([&] { return log_.Has("-prepare 2"); });
    EXPECT_TRUE(log_.Has("-finish 0"));
  };
  PipelinedLoop(arena_, 4, stop_, log_.Logged("prepare"), log_.Logged("evaluate", evaluate),
                log_.Logged("finish"))
      .Run();
  EXPECT_LT(log_.At("-finish 0"), log_.At("-evaluate 1"));
}

TEST_F(Pipelined, AllTurnsAreFinishedWhenTheLastStepReturns) {
  for (std::int64_t turns = 0; turns < 5; ++turns) {
    std::atomic<std::int64_t> finished = 0;
    PipelinedLoop loop(
        arena_, turns, stop_, [](std::int64_t) {}, [](std::int64_t) {},
        [&](std::int64_t turn) { EXPECT_EQ(finished++, turn); });
    for (std::int64_t turn = 0; turn < turns; ++turn) {
      EXPECT_TRUE(loop.Step());
      EXPECT_GE(finished, turn - 1);
    }
    EXPECT_EQ(finished, turns);
    EXPECT_FALSE(loop.Step());
  }
}

TEST_F(Pipelined, LoopWithoutTurnsRunsNoStage) {
  PipelinedLoop(arena_, 0, stop_, log_.Logged("prepare"), log_.Logged("evaluate"),
                log_.Logged("finish"))
      .Run();
  EXPECT_THAT(log_.events(), ElementsAre());
}

TEST_F(Pipelined, ExceptionInFinishEndsTheLoopBeforeThePreparationAfterIt) {
  const auto finish = [](std::int64_t turn) {
    if (turn == 1) throw Error("cannot finish turn 1");
  };
  PipelinedLoop loop(arena_, 9, stop_, log_.Logged("prepare"), log_.Logged("evaluate"),
                     log_.Logged("finish", finish));
  EXPECT_THROW(loop.Run(), Error);
  EXPECT_THAT(log_.Ended({"prepare", "finish"}),
              ElementsAre("prepare 0", "prepare 1", "finish 0", "prepare 2"));
  EXPECT_THAT(log_.Ended({"evaluate"}), ElementsAre("evaluate 0", "evaluate 1", "evaluate 2"));
}

TEST_F(Pipelined, ExceptionInTheLastFinishIsThrownByTheLastStep) {
  for (const std::int64_t failing : {1, 2}) {  // both are finished in the last step
    PipelinedLoop loop(
        arena_, 3, stop_, [](std::int64_t) {}, [](std::int64_t) {},
        [&](std::int64_t turn) {
          if (turn == failing) throw Error("cannot finish the turn");
        });
    EXPECT_TRUE(loop.Step());
    EXPECT_TRUE(loop.Step());
    EXPECT_THROW(loop.Step(), Error);
  }
}

TEST_F(Pipelined, ExceptionInEvaluateWaitsForTheStagesBesideIt) {
  const auto evaluate = [](std::int64_t turn) {
    if (turn == 1) throw Error("cannot evaluate turn 1");
  };
  EXPECT_THROW(PipelinedLoop(arena_, 9, stop_, log_.Logged("prepare"),
                             log_.Logged("evaluate", evaluate), log_.Logged("finish"))
                   .Run(),
               Error);
  EXPECT_THAT(log_.Ended({"prepare", "finish"}),
              ElementsAre("prepare 0", "prepare 1", "finish 0", "prepare 2"));
}

TEST_F(Pipelined, StopEndsTheLoopBeforeTheNextEvaluation) {
  const auto evaluate = [&](std::int64_t turn) {
    if (turn == 1) stop_.Request();
  };
  EXPECT_THROW(PipelinedLoop(arena_, 9, stop_, log_.Logged("prepare"),
                             log_.Logged("evaluate", evaluate), log_.Logged("finish"))
                   .Run(),
               Stopped);
  EXPECT_THAT(log_.Ended({"prepare", "finish"}),
              ElementsAre("prepare 0", "prepare 1", "finish 0", "prepare 2"));
  EXPECT_THAT(log_.Ended({"evaluate"}), ElementsAre("evaluate 0", "evaluate 1"));
}

TEST_F(Pipelined, StopDuringTheLastEvaluationStillFinishesAllTurns) {
  const auto evaluate = [&](std::int64_t turn) {
    if (turn == 2) stop_.Request();
  };
  PipelinedLoop(arena_, 3, stop_, log_.Logged("prepare"), log_.Logged("evaluate", evaluate),
                log_.Logged("finish"))
      .Run();
  EXPECT_THAT(log_.Ended({"finish"}), ElementsAre("finish 0", "finish 1", "finish 2"));
}

TEST_F(Pipelined, StagesOfTheArenaCountAsGenerateAndBackUp) {
  Timeline timeline;
  const Attach attach(timeline.AddMainTrack("main", Activity::kIdle));
  std::array<std::atomic<int>, kNumActivities> calls{};
  const auto count = [&](std::int64_t /*turn*/) {
    ++calls[static_cast<std::size_t>(Timeline::CurrentActivity())];
  };
  PipelinedLoop(
      arena_, 5, stop_, count, [](std::int64_t) {}, count)
      .Run();
  EXPECT_EQ(calls[static_cast<std::size_t>(Activity::kGenerate)], 5);
  EXPECT_EQ(calls[static_cast<std::size_t>(Activity::kBackUp)], 5);
}

}  // namespace
}  // namespace tandem
