#include "config/check_together.h"

#include <fmt/format.h>

#include "config/update_plan.h"
#include "tandem/error.h"

namespace tandem {
namespace {

// What the main thread answers for are searches, and what it labels comes from replay.
void CheckSyncMain(const TrainConfig& c, const Contradiction& contradiction) {
  if (c.pipeline.mode != Mode::kSyncMain) return;
  if (c.generate.target == Target::kWalkLength) {
    contradiction("pipeline.mode", "generate.target",
                  "sync_main labels rows by the target network, and walk lengths ask none");
  }
  if (c.generate.search == GenerateSearch::kNone) {
    contradiction("pipeline.mode", "generate.search",
                  "the network in training steers searches, and random walks ask none; `greedy` "
                  "and `astar` do");
  }
  if (c.replay.updates == 0) {
    contradiction("pipeline.mode", "replay.updates",
                  "sync_main trains on rows from replay, which must keep at least 1");
  }
  if (c.profile.timing_breakdown) {
    contradiction("profile.timing_breakdown", "pipeline.mode",
                  "phases are measured one at a time, and sync_main answers searches between them");
  }
  if (!c.pipeline.overlap) {
    contradiction("pipeline.overlap", "pipeline.mode",
                  "in sync_main searches go on while the main thread answers them");
  }
  if (c.pipeline.policy_lag == 1) {
    contradiction("pipeline.policy_lag", "pipeline.mode",
                  "sync_main labels rows just before it trains on them, so its lag is 0");
  }
}

// Which states become examples, and who labels them when.
void CheckExamples(const TrainConfig& c, const Contradiction& contradiction) {
  if (c.pipeline.mode == Mode::kAsync && c.pipeline.policy_lag == 0) {
    contradiction("pipeline.policy_lag", "pipeline.mode",
                  "async fills a buffer while it trains on the one before, so its lag is 1");
  }
  const bool searches = c.generate.search != GenerateSearch::kNone;
  if (searches && c.generate.target == Target::kWalkLength) {
    contradiction("generate.search", "generate.target",
                  "a search leaves the walk, whose length then says nothing of its states; the "
                  "others of `generate.target` do");
  }
  const bool generates = c.live_rows_of(0) > 0;
  if (searches && generates && c.generate.search_iterations > c.live_rows_of(0)) {
    contradiction("generate.search_iterations", "train.iterations_per_update",
                  fmt::format("a search would not end within a buffer, which has {} rows",
                              c.live_rows_of(0)));
  }
  // Every walk begins in the buffer that it ends in, and each of its states is a row.
  const bool takes_walks = c.generate.target == Target::kWalkLength;
  if (takes_walks && generates && c.generate.max_scramble > c.live_rows_of(0)) {
    contradiction("generate.max_scramble", "train.iterations_per_update",
                  fmt::format("a walk would not end within a buffer, which has {} rows, so that no "
                              "example would have the later lengths",
                              c.live_rows_of(0)));
  }
}

// Where rows come from shards, how many are generated besides.
void CheckData(const TrainConfig& c, const Contradiction& contradiction) {
  if (c.data.source == DataSource::kLive) {
    if (!c.data.path.empty()) {
      contradiction("data.path", "data.source", "only `shards` are read from a folder");
    }
    return;
  }
  if (c.data.path.empty()) {
    contradiction("data.source", "data.path", "shards are read from a folder");
  }
  if (c.live_part_of(c.train.batch_size) == c.train.batch_size) {
    contradiction("data.live_share", "data.source", "of a batch no row would come from the shards");
  }
  if (c.profile.timing_breakdown) {
    contradiction("profile.timing_breakdown", "data.source",
                  "phases are measured one at a time, and shards are read meanwhile");
  }
  if (c.live_part_of(c.train.batch_size) > 0) return;
  if (c.data.live_share > 0) {
    contradiction("data.live_share", "train.batch_size", "it is less than one row of a batch");
  }
  if (c.replay.updates > 0) {
    contradiction("replay.updates", "data.live_share",
                  "replay keeps rows that are generated while the run goes on");
  }
  if (c.pipeline.mode == Mode::kSyncMain) {
    contradiction("pipeline.mode", "data.live_share",
                  "sync_main labels rows that are generated while the run goes on");
  }
}

void CheckPlan(const TrainConfig& c, const Contradiction& contradiction) {
  if (c.train.plan.empty()) return;
  if (!c.train.max_updates) {
    contradiction("train.plan", "train.max_updates", "with auto the run makes its plan itself");
  }
  try {
    const std::int64_t planned = UpdatePlan::Parse(c.train.plan).updates();
    if (planned != *c.train.max_updates) {
      contradiction("train.plan", "train.max_updates",
                    fmt::format("the plan ends with {} updates", planned));
    }
  } catch (const InputError& error) {
    contradiction("train.plan", "train.max_updates", error.what());
  }
}

void CheckTraining(const TrainConfig& c, const Contradiction& contradiction) {
  if (!c.train.max_updates && c.train.max_seconds == 0) {
    contradiction("train.max_updates", "train.max_seconds",
                  "auto works the updates out from a time limit of more than 0 seconds");
  }
  CheckPlan(c, contradiction);
  const bool falls =
      c.optimizer.schedule == Schedule::kLinear || c.optimizer.schedule == Schedule::kCosine;
  if (falls && c.optimizer.final_learning_rate > c.optimizer.learning_rate) {
    contradiction("optimizer.final_learning_rate", "optimizer.learning_rate",
                  "the linear and cosine schedules fall, so they must end at or below their "
                  "start");
  }
  if (c.network.norm == Norm::kBatch && c.train.batch_size == c.train.accumulation_steps) {
    contradiction("network.norm", "train.batch_size",
                  "batch normalisation needs at least 2 examples at a time");
  }
  if (c.train.batch_size % c.train.accumulation_steps != 0) {
    contradiction("train.accumulation_steps", "train.batch_size",
                  "the parts of a batch are equal, so it must be a multiple of their number");
  }
}

void CheckSchedule(const TrainConfig& c, const Contradiction& contradiction) {
  if (c.train.batch_doubles_every == 0) return;
  if (!c.train.max_updates) {
    contradiction("train.batch_doubles_every", "train.max_updates",
                  "auto measures updates of one size");
  }
  if (c.replay.updates > 0) {
    contradiction("train.batch_doubles_every", "replay.updates",
                  "replay keeps buffers of one size");
  }
  const std::int64_t last = c.batch_size_of(*c.train.max_updates - 1);
  if (last > kMostBatchSize) {
    contradiction("train.batch_doubles_every", "train.max_updates",
                  fmt::format("the last batch would have {} rows, expected at most {}", last,
                              kMostBatchSize));
  }
}

void CheckSizes(const TrainConfig& c, const Contradiction& contradiction) {
  const std::int64_t updates = c.train.max_updates.value_or(1);
  const double rows = static_cast<double>(c.batch_size_of(updates - 1)) *
                      static_cast<double>(c.train.iterations_per_update);
  if (rows * static_cast<double>(updates) > 1e18) {
    contradiction("train.max_updates", "train.iterations_per_update",
                  "the run would train on more than 10^18 examples");
  }
  if (rows > UINT32_MAX) {
    contradiction("train.batch_size", "train.iterations_per_update",
                  "their product, the rows of one buffer, may be at most 4,294,967,295");
  }
}

}  // namespace

void CheckTogether(const TrainConfig& config, const Contradiction& contradiction) {
  CheckSyncMain(config, contradiction);
  CheckExamples(config, contradiction);
  CheckData(config, contradiction);
  CheckTraining(config, contradiction);
  CheckSchedule(config, contradiction);
  CheckSizes(config, contradiction);
}

}  // namespace tandem
