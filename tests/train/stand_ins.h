// A fake generator and a fake trainer whose weights are numbers, and a log of what they do.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/stopwatch.h"
#include "data/replay_buffer.h"
#include "support/wait.h"
#include "tandem/error.h"
#include "train/modes.h"

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
  std::optional<double> loss_thresh;
  PipelineOptions from;  // provides first_update and target
  ReplayBuffer* replay = nullptr;
  Log log;
};

class StandInGenerator final : public Generator {
 public:
  explicit StandInGenerator(StandIns& shared) : shared_(shared) {}

  bool needs_network() const override { return shared_.needs_network; }

  void Fill(const FillRequest& request, DataBuffer& out, const StopSignal& stop) override {
    shared_.log.Add("fill " + std::to_string(request.update));
    const double target = shared_.target;
    for (auto left = shared_.fill_time; left.count() > 0; left -= milliseconds(1)) {
      if (stop.Reached()) throw Stopped();
      TakeTime(milliseconds(1));
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
    TakeTime(shared_.train_time);
    if (update == shared_.train_fails_at) throw Error("the loss is not finite");
    for (const float row : rows.floats(0)) shared_.weights += 0.1 * (row - shared_.weights);
    if (between_iterations_) between_iterations_();
    shared_.log.Add("trained " + std::to_string(update));
    const auto k = static_cast<std::size_t>(update);
    return {.iterations = 1,
            .examples = static_cast<std::int64_t>(rows.rows()),
            .loss = k < shared_.losses.size() ? shared_.losses[k] : 0.0};
  }

  void BetweenIterations(std::function<void()> work) override {
    between_iterations_ = std::move(work);
  }

 private:
  StandIns& shared_;
  std::function<void()> between_iterations_;
};

}  // namespace tandem
