// A fake generator and a fake trainer whose weights are numbers, and a log of what they do.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/stopwatch.h"
#include "data/replay_buffer.h"
#include "pipeline/pipeline.h"
#include "support/wait.h"
#include "tandem/error.h"

namespace tandem {

using std::chrono::milliseconds;

inline const Schema kSchema{.columns = {{.name = "n", .type = ElementType::kFloat32, .width = 1}}};
inline constexpr std::int64_t kRows = 8;

// The events of all threads, in order.
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
  // The "network" and its target network are one number each.
  double weights = 1, target = 1;
  bool needs_network = true;
  milliseconds fill_time{0}, train_time{0};
  std::int64_t fill_fails_at = -1, train_fails_at = -1;
  std::vector<double> losses;  // by update; 0 for later updates
  std::vector<double> solved;  // by update: searches_solved. If there is one, the curriculum is on
  PipelineConfig refresh;      // only its rules for refreshing the target network
  std::int64_t first_update = 0;  // where the run resumes, and with which state
  PipelineState from;
  ReplayBuffer* replay = nullptr;
  std::function<void(std::int64_t)> on_iteration;  // of the run's StandInProgress
  Log log;
};

class StandInGenerator final : public Generator {
 public:
  explicit StandInGenerator(StandIns& shared) : shared_(shared) {}

  bool needs_network() const override { return shared_.needs_network; }
  const Schema& schema() const override { return kSchema; }

  void Fill(const FillRequest& request, DataBuffer& out, const StopSignal& stop) override {
    shared_.log.Add("fill " + std::to_string(request.update));
    const double target = shared_.target;
    for (auto left = shared_.fill_time; left.count() > 0; left -= milliseconds(1)) {
      if (stop.Reached()) throw Stopped();
      TakeTime(milliseconds(1));
    }
    if (request.update == shared_.fill_fails_at) throw Error("the simulator broke");
    for (std::int64_t i = 0; i < request.rows; ++i) {
      out.floats(0)[i] = static_cast<float>(0.5 * target + double(request.update * kRows + i) / 64 +
                                            double(request.longest_scramble.value_or(0)) / 4);
    }
    const auto k = static_cast<std::size_t>(request.update);
    solved_ = k < shared_.solved.size() ? std::optional(shared_.solved[k]) : std::nullopt;
    shared_.log.Add("filled " + std::to_string(request.update));
  }

  std::optional<double> searches_solved() const override { return solved_; }

 private:
  StandIns& shared_;
  std::optional<double> solved_;  // of the last fill
};

class StandInTrainer final : public Trainer {
 public:
  explicit StandInTrainer(StandIns& shared) : shared_(shared) {}

  void RefreshTarget() override {
    shared_.log.Add("refresh");
    shared_.target = shared_.weights;
  }

  std::unique_ptr<TrainPass> Begin(std::int64_t update, const DataBuffer* rows) override {
    return std::make_unique<Pass>(shared_, update, *rows);
  }

 private:
  // Each update has one iteration.
  class Pass final : public TrainPass {
   public:
    Pass(StandIns& shared, std::int64_t update, const DataBuffer& rows)
        : shared_(shared), update_(update), rows_(rows) {
      shared_.log.Add("train " + std::to_string(update));
    }

    bool Step() override {
      if (done_) return false;
      TakeTime(shared_.train_time);
      if (update_ == shared_.train_fails_at) throw Error("the loss is not finite");
      for (const float row : rows_.floats(0)) shared_.weights += 0.1 * (row - shared_.weights);
      done_ = true;
      return true;
    }

    std::int64_t iterations_of_run() const override { return update_ + (done_ ? 1 : 0); }

    TrainStats Finish() override {
      shared_.log.Add("trained " + std::to_string(update_));
      const auto k = static_cast<std::size_t>(update_);
      return {.iterations = done_ ? 1 : 0,
              .examples = static_cast<std::int64_t>(rows_.rows()),
              .loss = k < shared_.losses.size() ? shared_.losses[k] : 0.0};
    }

   private:
    StandIns& shared_;
    const std::int64_t update_;
    const DataBuffer& rows_;
    bool done_ = false;
  };

  StandIns& shared_;
};

// Remembers what the pipeline reports to its hooks.
struct StandInProgress {
  TrainingHooks hooks() {
    return {.on_training_start = [this] { ++starts; },
            .on_iteration_end =
                [this](std::int64_t iterations) {
                  done.push_back(iterations);
                  if (on_iteration) on_iteration(iterations);
                }};
  }

  int starts = 0;
  std::vector<std::int64_t> done;
  std::function<void(std::int64_t)> on_iteration;
};

}  // namespace tandem
