#include "config/validate.h"

#include <fmt/format.h>

#include "config/update_plan.h"
#include "tandem/error.h"

namespace tandem {
namespace {

// In sync_main the main thread evaluates states for the searches and labels the rows from replay,
// so the mode needs a search, a target network and replay.
void CheckSyncMain(const Config& c, const Contradiction& contradiction) {
  if (c.pipeline.mode != Mode::kSyncMain) return;
  if (c.generate.target == Target::kWalkLength) {
    contradiction(
        "pipeline.mode", "generate.target",
        "sync_main labels rows with the target network, which walk_length does not use. Set "
        "generate.target to value_iteration or capped_value_iteration.");
  }
  if (c.generate.search == GenerateSearch::kNone) {
    contradiction("pipeline.mode", "generate.search",
                  "in sync_main the network being trained guides searches. Set generate.search to "
                  "greedy or astar.");
  }
  if (c.replay.updates == 0) {
    contradiction("pipeline.mode", "replay.updates",
                  "sync_main trains on rows from replay. Set replay.updates to at least 1.");
  }
  if (c.profile.timing_breakdown) {
    contradiction("profile.timing_breakdown", "pipeline.mode",
                  "each phase is timed alone, but sync_main evaluates states for searches between "
                  "phases. Choose another mode, or record a trace with profile.trace.");
  }
  if (!c.pipeline.overlap) {
    contradiction(
        "pipeline.overlap", "pipeline.mode",
        "sync_main works only if searches overlap with training. Leave pipeline.overlap at "
        "true, or choose another mode.");
  }
  if (c.pipeline.policy_lag == 1) {
    contradiction("pipeline.policy_lag", "pipeline.mode",
                  "sync_main labels rows just before it trains on them, so its lag is 0. Set "
                  "pipeline.policy_lag to 0 or auto.");
  }
}

// Checks which states become examples, and which network labels them.
void CheckExamples(const Config& c, const Contradiction& contradiction) {
  if (c.pipeline.mode == Mode::kAsync && c.pipeline.policy_lag == 0) {
    contradiction("pipeline.policy_lag", "pipeline.mode",
                  "async fills a buffer while it trains on the previous one, so its lag is 1. Set "
                  "pipeline.policy_lag to 1 or auto, or choose sequential.");
  }
  const bool searches = c.generate.search != GenerateSearch::kNone;
  if (searches && c.generate.target == Target::kWalkLength) {
    contradiction(
        "generate.search", "generate.target",
        "a search leaves the random walk, so the walk's length does not label its states. "
        "Set generate.target to value_iteration or capped_value_iteration.");
  }
  const bool generates = c.live_rows_of(0) > 0;
  if (searches && generates && c.generate.search_iterations > c.live_rows_of(0)) {
    contradiction("generate.search_iterations", "train.iterations_per_update",
                  fmt::format("a search must end within a buffer, which has {} rows. Lower "
                              "generate.search_iterations, or raise train.iterations_per_update.",
                              c.live_rows_of(0)));
  }
  // A walk lies within one buffer, and each of its states is a row.
  const bool takes_walks = c.generate.target == Target::kWalkLength;
  if (takes_walks && generates && c.generate.max_scramble > c.live_rows_of(0)) {
    contradiction(
        "generate.max_scramble", "train.iterations_per_update",
        fmt::format("a walk must end within a buffer, which has {} rows; otherwise no example "
                    "would have the greatest lengths. Lower generate.max_scramble, or "
                    "raise train.iterations_per_update.",
                    c.live_rows_of(0)));
  }
}

// Checks where rows come from: shards, generation, or both.
void CheckData(const Config& c, const Contradiction& contradiction) {
  if (c.data.source == DataSource::kLive) {
    if (!c.data.path.empty()) {
      contradiction(
          "data.path", "data.source",
          "only shards are read from a folder. Set data.source to shards, or remove data.path.");
    }
    return;
  }
  if (c.data.path.empty()) {
    contradiction(
        "data.source", "data.path",
        "shards are read from a folder. Set data.path to the folder that `tandem generate` "
        "wrote.");
  }
  if (c.live_part_of(c.train.batch_size) == c.train.batch_size) {
    contradiction("data.live_share", "data.source",
                  "no row of a batch would come from the shards. Lower data.live_share, or set "
                  "data.source to live.");
  }
  if (c.profile.timing_breakdown) {
    contradiction(
        "profile.timing_breakdown", "data.source",
        "each phase is timed alone, but other threads read shards at the same time. Record "
        "a trace with profile.trace instead.");
  }
  if (c.live_part_of(c.train.batch_size) > 0) return;
  if (c.data.live_share > 0) {
    contradiction("data.live_share", "train.batch_size",
                  "the share is less than one row of a batch. Raise data.live_share or "
                  "train.batch_size, or set data.live_share to 0.");
  }
  if (c.replay.updates > 0) {
    contradiction(
        "replay.updates", "data.live_share",
        "replay keeps rows that are generated during the run. Raise data.live_share, or set "
        "replay.updates to 0.");
  }
  if (c.pipeline.mode == Mode::kSyncMain) {
    contradiction(
        "pipeline.mode", "data.live_share",
        "sync_main labels rows that are generated during the run. Raise data.live_share, or "
        "choose another mode.");
  }
}

void CheckPlan(const Config& c, const Contradiction& contradiction) {
  if (c.train.plan.empty()) return;
  if (!c.train.max_updates) {
    contradiction("train.plan", "train.max_updates",
                  "with auto the run makes its own plan. Set train.plan to null.");
  }
  try {
    const std::int64_t planned = UpdatePlan::Parse(c.train.plan).updates();
    if (planned != *c.train.max_updates) {
      contradiction("train.plan", "train.max_updates",
                    fmt::format("the plan ends with {} updates. Set train.max_updates to that "
                                "number, or train.plan to null.",
                                planned));
    }
  } catch (const InputError& error) {
    contradiction("train.plan", "train.max_updates", error.what());
  }
}

void CheckTraining(const Config& c, const Contradiction& contradiction) {
  if (!c.train.max_updates && c.train.max_seconds == 0) {
    contradiction("train.max_updates", "train.max_seconds",
                  "auto derives the number of updates from a time limit, so the limit must be more "
                  "than 0 seconds. Set train.max_seconds, or give train.max_updates a number.");
  }
  CheckPlan(c, contradiction);
  const bool falls =
      c.optimizer.schedule == Schedule::kLinear || c.optimizer.schedule == Schedule::kCosine;
  if (falls && c.optimizer.final_learning_rate > c.optimizer.learning_rate) {
    contradiction(
        "optimizer.final_learning_rate", "optimizer.learning_rate",
        "the linear and cosine schedules decrease, so they must end at or below their start. "
        "Lower optimizer.final_learning_rate.");
  }
  if (c.network.norm == Norm::kBatch && c.train.batch_size == c.train.accumulation_steps) {
    contradiction(
        "network.norm", "train.batch_size",
        "batch normalisation needs at least 2 examples in each part of a batch. Raise "
        "train.batch_size, lower train.accumulation_steps, or set network.norm to layer.");
  }
  if (c.train.batch_size % c.train.accumulation_steps != 0) {
    contradiction("train.accumulation_steps", "train.batch_size",
                  "a batch is split into equal parts, so train.batch_size must be a multiple of "
                  "train.accumulation_steps");
  }
}

void CheckSchedule(const Config& c, const Contradiction& contradiction) {
  if (c.train.batch_doubles_every == 0) return;
  if (!c.train.max_updates) {
    contradiction("train.batch_doubles_every", "train.max_updates",
                  "auto measures how long an update takes, so all updates must have one size. Give "
                  "train.max_updates a number, or set train.batch_doubles_every to 0.");
  }
  if (c.replay.updates > 0) {
    contradiction("train.batch_doubles_every", "replay.updates",
                  "replay needs buffers of one size. Set one of the two keys to 0.");
  }
  const std::int64_t last = c.batch_size_of(*c.train.max_updates - 1);
  if (last > kMostBatchSize) {
    contradiction("train.batch_doubles_every", "train.max_updates",
                  fmt::format("the last batch would have {} rows, expected at most {}. Raise "
                              "train.batch_doubles_every, or lower train.max_updates.",
                              last, kMostBatchSize));
  }
}

void CheckSizes(const Config& c, const Contradiction& contradiction) {
  const std::int64_t updates = c.train.max_updates.value_or(1);
  const double rows = static_cast<double>(c.batch_size_of(updates - 1)) *
                      static_cast<double>(c.train.iterations_per_update);
  if (rows * static_cast<double>(updates) > 1e18) {
    contradiction("train.max_updates", "train.iterations_per_update",
                  "the run would train on more than 10^18 examples. Lower one of the two keys.");
  }
  if (rows > UINT32_MAX) {
    contradiction(
        "train.batch_size", "train.iterations_per_update",
        "their product, the number of rows in a buffer, may be at most 4,294,967,295. Lower "
        "one of the two keys.");
  }
}

}  // namespace

void CheckTogether(const Config& config, const Contradiction& contradiction) {
  CheckSyncMain(config, contradiction);
  CheckExamples(config, contradiction);
  CheckData(config, contradiction);
  CheckTraining(config, contradiction);
  CheckSchedule(config, contradiction);
  CheckSizes(config, contradiction);
}

}  // namespace tandem
