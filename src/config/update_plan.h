// How many updates a run does, and how far that puts its learning-rate schedule.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "config/train_config.h"

namespace tandem {

/// `UpdatePlan` holds the number of updates of a run and every revision of it. A run with
/// `train.max_updates: auto` revises its plan as it learns how long updates take; the schedule then
/// spreads what is left of it over the updates that are left. The learning rate of every iteration
/// is a function of the plan, so a plan that is written down gives the same run again.
class UpdatePlan {
 public:
  /// From `update` on, the run was planned to have `updates` in all.
  struct Revision {
    std::int64_t update;
    std::int64_t updates;
    bool operator==(const Revision&) const = default;
  };

  explicit UpdatePlan(std::int64_t updates) : revisions_{{0, updates}} {}

  /// Of a config whose train.max_updates is a number: its train.plan, if it has one.
  explicit UpdatePlan(const TrainingConfig& config);

  /// Reads what text() wrote. Throws InputError that says what is wrong.
  static UpdatePlan Parse(std::string_view text);

  /// "0:180 12:150": 180 updates were planned from update 0 on, and 150 from update 12 on.
  std::string text() const;

  /// Sets train.max_updates, and train.plan if there is a revision.
  void WriteTo(TrainingConfig& config) const;

  std::int64_t updates() const { return revisions_.back().updates; }
  const std::vector<Revision>& revisions() const { return revisions_; }

  /// From `update` on, plans `updates` in all, of which `update` must be one. Drops revisions from
  /// there on.
  void Revise(std::int64_t update, std::int64_t updates);

  /// Drops the revisions from `update` on, for a run that does that update again. The first plan
  /// stays.
  void ForgetFrom(std::int64_t update);

  /// The share of the schedule that is done at an iteration, counted over the run: 0 at the first
  /// and 1 at the last.
  double Done(std::int64_t iteration, std::int64_t iterations_per_update) const;

 private:
  std::vector<Revision> revisions_;  // in the order of their updates, the first from update 0
};

/// Estimates how many updates fit into a time limit, from when the updates so far began.
class UpdatePacer {
 public:
  /// Call when an update begins, with the seconds that the run has taken by then.
  void Begins(std::int64_t update, double elapsed_s);

  /// The plan for a run that must end by `limit_s`: `plan`, revised from the update that has just
  /// begun if the time per update has changed by enough. Recent updates count, not the cold start.
  UpdatePlan Revised(UpdatePlan plan, double limit_s) const;

 private:
  std::int64_t first_update_ = 0;
  std::vector<double> began_s_;  // of each update from the first on
};

/// How many more updates to plan for a run that must end by `limit_s` and has taken `elapsed_s`. A
/// part of the time is kept in reserve, so that the last update ends in time. At least 1.
std::int64_t UpdatesThatFit(double limit_s, double elapsed_s, double update_s);

}  // namespace tandem
