// The number of updates of a run, and the position in its learning-rate schedule that follows from
// it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "config/config.h"

namespace tandem {

/// UpdatePlan holds the number of updates of a run and every revision of it. A run with
/// `train.max_updates: auto` revises its plan as it learns how long updates take. The rest of the
/// learning-rate schedule is then spread over the remaining updates. The learning rate of every
/// iteration depends only on the plan, so a saved plan gives the same run again.
class UpdatePlan {
 public:
  /// From update `update` on, the run was planned to have `updates` updates in total.
  struct Revision {
    std::int64_t update;
    std::int64_t updates;
    bool operator==(const Revision&) const = default;
  };

  explicit UpdatePlan(std::int64_t updates) : revisions_{{0, updates}} {}

  /// Takes the plan from a config: train.plan if it has one, else train.max_updates, which must be
  /// a number.
  explicit UpdatePlan(const TrainingConfig& config);

  /// Parses the format of text(). Throws InputError if `text` is not a plan.
  static UpdatePlan Parse(std::string_view text);

  /// "0:180 12:150": 180 updates were planned from update 0 on, and 150 from update 12 on.
  std::string text() const;

  /// Sets train.max_updates and train.plan.
  void WriteTo(TrainingConfig& config) const;

  std::int64_t updates() const { return revisions_.back().updates; }

  const std::vector<Revision>& revisions() const { return revisions_; }

  /// Plans `updates` updates in total from update `update` on. `update` must be less than
  /// `updates`. Replaces all revisions at `update` and later.
  void Revise(std::int64_t update, std::int64_t updates);

  /// Drops the revisions at `update` and later, for a run that repeats that update. The first plan
  /// stays.
  void ForgetFrom(std::int64_t update);

  /// Returns the share of the schedule that is done at `iteration`, which counts from the start of
  /// the run: 0 at the first iteration and 1 at the last.
  double Done(std::int64_t iteration, std::int64_t iterations_per_update) const;

 private:
  std::vector<Revision> revisions_;  // sorted by update; the first one starts at update 0
};

/// UpdatePacer estimates how many updates fit into a time limit. It uses the times at which the
/// updates so far began.
class UpdatePacer {
 public:
  /// Call when an update begins, with the seconds since the start of the run.
  void Begins(std::int64_t update, double elapsed_s);

  /// Returns the plan for a run that must end by `limit_s`. It is `plan`, revised from the update
  /// that has just begun if the time per update has changed by enough. The estimate uses recent
  /// updates and leaves out the cold start.
  UpdatePlan Revised(UpdatePlan plan, double limit_s) const;

 private:
  std::int64_t first_update_ = 0;
  std::vector<double> began_s_;  // start time of each update from first_update_ on
};

/// Returns the seconds after which a run ends; 0: it has no time limit. The clock that made a plan
/// does not limit a run that repeats the plan, which may be slower.
double TimeLimitOf(const TrainingConfig& config);

/// How many more updates to plan for a run that must end by `limit_s` and has taken `elapsed_s`. A
/// part of the time is kept in reserve, so that the last update ends in time. At least 1.
std::int64_t UpdatesThatFit(double limit_s, double elapsed_s, double update_s);

}  // namespace tandem
